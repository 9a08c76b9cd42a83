"""The public names of Scrollback, read from its sources, and a check of code in documentation against them.

`PublicNames(root).problems_of("chat.history(.latest, limit: 20)")` returns what is wrong with an expression: a member
that its type does not have, an argument label that no overload has, an enumeration case or error code that does not
exist. It follows a chain of members as far as the declared types are simple names.
"""

import os
import re

# Modules that apps import. Scrollback exports ScrollbackModel.
MODULES = ["Scrollback", "ScrollbackModel", "ScrollbackUI", "ScrollbackTesting"]
# What the names of variables in examples stand for.
VARIABLES = {
    "chat": "Conversation",
    "client": "ChatClient",
    "message": "Message",
    "page": "HistoryPage",
    "batch": "HistoryBatch",
    "pager": "HistoryPager",
    "query": "HistoryPager",
    "sending": "SendHandle",
    "recent": "RecentConversation",
    "totals": "UnreadTotals",
    "timetoken": "Timetoken",
    "configuration": "ChatClient.Configuration",
    "options": "PushOptions",
    "preferences": "PushPreferences",
    "error": "ChatError",
    "attributes": "MessageAttributes",
    "action": "MessageAction",
    "timeline": "Timeline",
    "media": "Media",
}
# Names of Swift and its libraries that examples use.
SWIFT = {
    "init", "nil", "true", "false", "try", "await", "async", "throws", "let", "var", "case", "for", "in", "if", "self",
    "Date", "URL", "Data", "UUID", "Int", "Int64", "UInt64", "String", "Bool", "Task", "AsyncStream", "AsyncSequence",
    "Sendable", "Codable", "Duration", "LocalizedError", "localizedDescription", "seconds", "now", "addingTimeInterval",
    "first", "last", "isEmpty", "count", "filter", "Set", "Array", "Range", "milliseconds", "rawValue", "description",
    "hashValue", "Equatable", "Hashable", "Error",
}  # fmt: skip
TYPE = re.compile(r"^(\s*)((?:@\w+(?:\([^)]*\))?\s+|\w+\s+)*?)(class|struct|enum|protocol|actor|extension)\s+([\w.]+)")
MEMBER = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*((?:(?:public|package|private|fileprivate|internal|open|static|class|final|mutating"
    r"|nonisolated|convenience|required|override|indirect|lazy|weak)(?:\(set\))?\s+)*)"
    r"(var|let|func|init|subscript|typealias|case)\b\s*`?(\w*)`?"
)
METHODS = "GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS"
KEBAB = re.compile(r"[a-z]+(?:-[a-z]+)+")


class PublicNames:
    def __init__(self, root):
        self.root = root
        # Members by type: name → list of (labels, type of the result or None).
        self.members, self.labels = {}, {}
        self.types = set()
        for module in MODULES:
            for folder, _, files in os.walk(os.path.join(root, "Sources", module)):
                for name in sorted(files):
                    if name.endswith(".swift"):
                        with open(os.path.join(folder, name), encoding="utf-8") as file:
                            self.read_swift(file.read())
        errors = self.text("ScrollbackModel/Errors/ChatError.swift")
        self.error_codes = set(re.findall(r"static let \w+ = Self\(rawValue: \"([a-z-]+)\"\)", errors))
        self.settings = set(
            re.findall(r"\(\s*\"(\w+)\",\s*\.", self.text("ScrollbackEngine/Operations/Admin/PutSettings.swift"))
        ) | set(re.findall(r"\"(\w+PerDay)\"", self.text("ScrollbackEngine")))
        self.operations, self.requests = self.read_operations()
        self.commands, self.options = self.read_commands()
        with open(os.path.join(root, "Documentation/operations.md"), encoding="utf-8") as file:
            self.options |= set(re.findall(r"`(--[a-z-]+)", file.read()))
        wire = "".join(map(self.text, ["ScrollbackWire", "ScrollbackModel", "ScrollbackEngine/Operations"]))
        self.values = set(re.findall(r"\"([a-z]\w*)\"", wire))
        self.words = (
            {name for members in self.members.values() for name in members}
            | {label for labels in self.labels.values() for label in labels}
            | {part for name in self.types for part in name.split(".")}
            | self.settings
            | SWIFT
            | set(VARIABLES)
        )

    def text(self, path):
        path = os.path.join(self.root, "Sources", path)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
        texts = []
        for folder, _, files in os.walk(path):
            for name in sorted(files):
                if name.endswith(".swift"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        texts.append(file.read())
        return "\n".join(texts)

    # Swift

    def read_swift(self, text):
        lines = re.sub(r'"""(?:.|\n)*?"""', lambda match: '""' + "\n" * match.group().count("\n"), text).split("\n")
        scopes = []  # (indent, full name, kind, whether members are public by default)
        for at, line in enumerate(lines):
            code = line.split("//")[0].rstrip()
            if not code.strip():
                continue
            indent = len(code) - len(code.lstrip())
            while scopes and scopes[-1][0] >= indent:
                scopes.pop()
            match = TYPE.match(code)
            if match and not re.search(r"\b(?:func|var|let|case)\b", match.group(2)):
                modifiers, kind, name = match.group(2).split(), match.group(3), match.group(4)
                full = ".".join([scopes[-1][1], name]) if scopes else name
                is_public = "public" in modifiers or "open" in modifiers
                if kind != "extension" and is_public:
                    self.types.add(full)
                scopes.append((indent, full, kind, is_public))
                continue
            match = MEMBER.match(code)
            if not match or scopes and indent > scopes[-1][0] + 4:
                continue
            modifiers, kind, name = match.group(1).split(), match.group(2), match.group(3)
            owner, scope, is_public = (scopes[-1][1], scopes[-1][2], scopes[-1][3]) if scopes else ("", "", False)
            if not ("public" in modifiers or "open" in modifiers or is_public and scope in ("protocol", "extension")):
                if not (kind == "case" and scope == "enum" and is_public):
                    continue
            declaration = self.declaration(lines, at)
            if kind == "case":
                for case, values in re.findall(r"(?:case|,)\s+`?(\w+)`?\s*(\((?:[^()]|\([^()]*\))*\))?", declaration):
                    self.add(owner, case, labels_of(values), owner)
            elif kind in ("init", "subscript"):
                self.add(owner, kind, labels_of(declaration), owner if kind == "init" else result_of(declaration))
            else:
                self.add(owner, name, labels_of(declaration) if kind == "func" else None, result_of(declaration))

    @staticmethod
    def declaration(lines, at):
        """The text of a declaration up to its body, over several lines if its parentheses are open."""
        parts = []
        for line in lines[at : at + 20]:
            parts.append(line.split("//")[0].strip())
            text = " ".join(parts)
            if text.count("(") <= text.count(")"):
                following = lines[at + len(parts)].strip() if at + len(parts) < len(lines) else ""
                return text + (" " + following if following.startswith((") ", "->", "async ", "throws")) else "")
        return " ".join(parts)

    def add(self, owner, name, labels, result):
        self.members.setdefault(owner, {}).setdefault(name, []).append((labels, result))
        self.labels.setdefault(name, set()).update(labels or [])

    def type_named(self, name, inside=""):
        """The full name of a type as seen from another type."""
        scope = inside.split(".") if inside else []
        while True:
            full = ".".join(scope + [name])
            if full in self.types:
                return full
            if not scope:
                break
            scope.pop()
        ends = [full for full in self.types if full.endswith("." + name)]
        return ends[0] if len(ends) == 1 else None

    # HTTP, WebSocket, command line

    def read_operations(self):
        """The operations of the generated page of permissions, which a test compares with the registry."""
        operations, requests = set(), set()
        with open(os.path.join(self.root, "Documentation/permissions.md"), encoding="utf-8") as file:
            for line in file:
                cells = line.split(" | ")
                if line.startswith("| `") and len(cells) >= 5:
                    operations |= set(re.findall(rf"`((?:{METHODS}) /[^`]*)`", cells[3]))
                    requests |= set(re.findall(r"`(\w+)`", cells[4]))
        return operations, requests

    def read_commands(self):
        commands, options = set(), set()
        text = self.text("ScrollbackCLI")
        for name, body in re.findall(r"struct (\w+): AsyncParsableCommand \{\n(.*)", text):
            commands.add(name.lower())
        commands |= set(re.findall(r"commandName: \"(\w+)\"", text))
        for name in re.findall(r"\bvar (\w+)", text):
            options.add("--" + re.sub(r"([A-Z])", lambda match: "-" + match.group().lower(), name))
        for name in re.findall(r"\.(?:customLong|long)\(\"([\w-]+)\"", text):
            options.add("--" + name)
        return commands, options

    # The check of an expression

    def problems_of(self, span):
        if match := re.fullmatch(rf"((?:(?:{METHODS})/?)+) (/\S*|…\S*)(?: .*)?", span):
            return self.problems_of_operation(match.group(1).split("/"), match.group(2))
        if span.startswith(("/v1/", "…/")):
            return self.problems_of_operation(None, span)
        words = span.split()
        if words and words[0] == "scrollback":
            return self.problems_of_command(words[1:])
        if words and words[0] in self.commands and len(words) > 1 and words[1].startswith("--"):
            return self.problems_of_command(words)
        if span.startswith("--"):
            return self.problems_of_command(words, is_option=True)
        if KEBAB.fullmatch(span):
            return [] if span in self.error_codes else [f"no error code of Scrollback is {span}"]
        if is_literal(span) or re.fullmatch(r"(?:com\.example|app:|RC:)[\w.:]*", span):
            return []
        if re.match(r"\??\w+=", span):  # a query
            return []
        if re.fullmatch(r"[\w./-]+\.(?:tsv|md|py|json|txt)", span):
            return []
        return Expression(self, span).check()

    def problems_of_operation(self, methods, path):
        path = path.split("?")[0].replace("…", "/v1/conversations/{conversation}")
        shape = re.sub(r"\{[^}]*\}", "{}", path)
        known = {}
        for operation in self.operations:
            method, other = operation.split(" ")
            known.setdefault(re.sub(r"\{[^}]*\}", "{}", other), set()).add(method)
        if shape not in known:
            return [f"no operation has the path {path}"]
        return [f"no operation is {method} {path}" for method in methods or [] if method not in known[shape]]

    def problems_of_command(self, words, is_option=False):
        problems = []
        if not is_option and (not words or words[0] not in self.commands):
            problems.append(f"scrollback has no command {words[0] if words else ''}")
        for word in words:
            if word.startswith("--") and word.split("=")[0] not in self.options:
                problems.append(f"no command has the option {word}")
        return problems


class Expression:
    """A walk over the tokens of a Swift expression that resolves members, labels and cases."""

    TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\d[\d_.]*|[A-Za-z_]\w*|\.\.\.|\.\.<|->|[^\s]')

    def __init__(self, names, text):
        self.names = names
        self.tokens = self.TOKEN.findall(text)
        self.problems = []
        self.at = 0

    def check(self):
        self.walk(closing=None, labels=None, depth=0)
        return self.problems

    def next_is(self, *tokens):
        return self.at < len(self.tokens) and self.tokens[self.at] in tokens

    def walk(self, closing, labels, depth):
        """Reads tokens up to `closing`. `labels` are the argument labels of the call whose arguments these are."""
        owner = None  # the type of the expression so far; None if unknown; "" if there is none
        fresh = True
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token == closing:
                return
            if token == "." and self.at < len(self.tokens) and re.match(r"[A-Za-z_]", self.tokens[self.at]):
                name = self.tokens[self.at]
                self.at += 1
                owner = self.implicit(name) if fresh else self.member(owner, name)
                owner = self.arguments(name, owner, depth)
                fresh = False
            elif re.match(r"[A-Za-z_]", token):
                if self.next_is(":") and labels is not None:
                    self.at += 1
                    if token not in labels and token != "_":
                        self.problems.append(f"no overload has the argument label {token}:")
                    fresh = True
                    continue
                owner = self.name(token, depth)
                owner = self.arguments(token, owner, depth)
                fresh = False
            elif token in "([{":
                self.walk({"(": ")", "[": "]", "{": "}"}[token], None, depth + 1)
                owner, fresh = None, False
            elif token in "?!)":
                continue
            else:
                owner, fresh = None, True

    def arguments(self, name, owner, depth):
        """Reads the arguments of a call, and a subscript. Returns the type of the result."""
        while self.next_is("(", "["):
            opening = self.tokens[self.at]
            self.at += 1
            if opening == "[":
                self.walk("]", None, depth + 1)
                owner = None if owner != "Recents" else "RecentConversation"
                continue
            key = "init" if name[:1].isupper() or name == "init" else name
            if key == "init" and name != "init":
                members = self.names.members.get(self.names.type_named(name) or "", {})
                labels = {label for known in members.get("init", []) for label in known[0]}
                if not labels:
                    labels = self.names.labels.get("init", set())
            else:
                labels = self.names.labels.get(key, set())
            self.walk(")", labels, depth + 1)
        return owner

    def name(self, token, depth):
        names = self.names
        if token in VARIABLES:
            return VARIABLES[token]
        if token in names.types or token in {full.split(".")[-1] for full in names.types}:
            return names.type_named(token)
        if token in names.members.get("", {}):
            return None
        if depth > 0 and token[:1].islower() and not self.next_is("("):
            return None  # a value of the app, such as `id` in `.id(id)`
        if token in names.words or token in names.error_codes or token in names.requests or token in names.values:
            return None
        self.problems.append(f"{token} is no public name of Scrollback")
        return None

    def implicit(self, name):
        owners = [owner for owner, members in self.names.members.items() if name in members]
        if not owners and name not in SWIFT:
            self.problems.append(f"no public type has .{name}")
        return owners[0] if len(owners) == 1 else None

    def member(self, owner, name):
        names = self.names
        if owner is None or owner not in names.members:
            full = names.type_named(name) if name[:1].isupper() else None
            if not full and name not in names.words:
                self.problems.append(f"{name} is no public name of Scrollback")
            return full
        if nested := f"{owner}.{name}" in names.types and f"{owner}.{name}":
            return nested
        found = names.members[owner].get(name)
        if not found:
            if name not in SWIFT:
                self.problems.append(f"{owner} has no public member {name}")
            return None
        result = found[0][1]
        return names.type_named(result, owner) if result else None


def labels_of(text):
    """The argument labels of a parameter list."""
    if not text or "(" not in text:
        return []
    depth, part, parts = 0, "", []
    for character in text[text.index("(") + 1 :]:
        if character in "([{<":
            depth += 1
        elif character in ")]}>" and not part.endswith("-"):
            if depth == 0:
                break
            depth -= 1
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [match.group(1) for part in parts + [part] if (match := re.match(r"\s*`?(\w+)`?(?:\s+\w+)?\s*:", part))]


def result_of(declaration):
    """The simple name of the type of a property or of the result of a function."""
    text = declaration.split("->", 1)[1] if "->" in declaration else None
    if text is None and (match := re.search(r"\b(?:var|let)\s+`?\w+`?\s*:\s*(.*)", declaration)):
        text = match.group(1)
    if text is None and (match := re.search(r"\b(?:var|let)\s+`?\w+`?\s*=\s*(\w+)\(", declaration)):
        text = match.group(1)
    match = re.match(r"\s*(?:any\s+)?([A-Z][\w.]*)\??\s*(?:[{=]|$|where)", text or "")
    return match.group(1) if match else None


def is_literal(span):
    return bool(
        re.fullmatch(r'[-+]?\d[\d.,…_]*|"[^"]*"|nil|true|false|\{.*\}?|[^\w\s`]+|https?://\S*|[\w-]+: \S+', span)
    )
