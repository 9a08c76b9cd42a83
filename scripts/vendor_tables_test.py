"""Shows that each rule of vendor-tables.py and public_names.py can fail, on a small project in a temporary folder."""

import os
import tempfile

FILES = {
    "Sources/Scrollback/Chat.swift": """
public struct Chat: Sendable {
    public let id: Int
    public func history(
        _ anchor: Anchor = .latest, limit: Int = 20
    ) async throws(ChatError) -> Page {
        let hidden = 1
    }
    func internalCall() {}
    public struct Page: Sendable {
        public var older: Anchor?
    }
}
public struct Conversation {
    public func history(limit: Int) -> Chat.Page { fatalError() }
}
public enum Anchor: Sendable {
    case latest, before(Int)
}
""",
    "Sources/ScrollbackModel/Errors/ChatError.swift": """
extension ChatError.Code {
    public static let notMember = Self(rawValue: "not-member")
}
""",
    "Sources/ScrollbackEngine/Operations/Admin/PutSettings.swift": '("allowsHistory", .boolean, "true", "On or off.")',
    "Sources/ScrollbackCLI/Import.swift": """
struct Import: AsyncParsableCommand {
    @Flag var countsUnread = false
}
""",
    "Documentation/permissions.md": """
| `send` | `write` | members | `POST /v1/conversations/{conversation}/messages` | `send` |
""",
    "Documentation/operations.md": "| `--port` | 8080 |",
    "Documentation/guides.md": "[Acme](vendors/acme.md)",
    "Documentation/coming-from-acme.md": """
[names](vendors/acme.md)

| Acme | Scrollback |
|---|---|
| `fetchAll`, pageSize | `chat.history(.latest, limit: 20)` |
| 24401…24402 | `not-member` |
""",
    "Documentation/vendors/acme.tsv": """
name\ttype\tkind\tscrollback\tnote
fetchAll(in:)\t\tmethod\t`chat.history(.latest, limit:)`\tOver HTTP `POST …/messages`.
pageSize\tAcmeOptions\tproperty\t`limit`
theme\tAcmeOptions\tproperty\tnone\tYour app has the colors.
24401\tACME_NOT_MEMBER\terror\t`not-member`
24402\tACME_OTHER\terror\tnone\tThe `allowsHistory` setting, and `scrollback import --counts-unread`.
""",
    "Documentation/vendors/identifiers/acme.txt": """
# Acme's public documents
AcmeOptions.pageSize
AcmeOptions.theme
fetchAll(in:)
24401
24402
""",
}
DATA, LIST, GUIDE = (
    "Documentation/vendors/acme.tsv",
    "Documentation/vendors/identifiers/acme.txt",
    "Documentation/coming-from-acme.md",
)
# File, text, the text that replaces it, and a part of the problem that must be reported.
CHANGES = [
    ("Documentation/vendors/acme.md", "## Methods", "## Method", "not the generated page"),
    (DATA, "\tkind\t", "\tsort\t", "the first line must be"),
    (DATA, "pageSize\tAcmeOptions", "pageSize AcmeOptions", "a line has 5 cells"),
    (DATA, "\tproperty\t`limit`", "\tfield\t`limit`", "unknown kind field"),
    (DATA, "\tproperty\t`limit`", "\tproperty\t\tA note.", "pageSize has no counterpart"),
    (DATA, "none\tYour app has the colors.", "none", "is none without a reason"),
    (DATA, "theme\t", "pageSize\t", "pageSize is also in line"),
    (DATA, "\t`not-member`", "\tnot a member", "names no error code"),
    (DATA, "`not-member`", "`no-member`", "no error code of Scrollback is no-member"),
    (DATA, "`limit`", "`limits`", "limits is no public name"),
    (DATA, "chat.history(", "chat.messages(", "Conversation has no public member messages"),
    (DATA, "limit:)", "count:)", "no overload has the argument label count:"),
    (DATA, "chat.history(.latest, limit:)", "Chat.internalCall()", "Chat has no public member internalCall"),
    (DATA, ".latest,", ".newest,", "no public type has .newest"),
    (DATA, "POST …/messages", "PUT …/messages", "no operation is PUT"),
    (DATA, "POST …/messages", "POST …/message", "no operation has the path"),
    (DATA, "allowsHistory", "allowsHistories", "allowsHistories is no public name"),
    (DATA, "scrollback import", "scrollback imports", "no command imports"),
    (DATA, "--counts-unread", "--count-unread", "the option --count-unread"),
    (LIST, "# Acme", "Acme", "the first line names the documents"),
    (LIST, "fetchAll(in:)", "fetchAll(in:)\nfetchNone", "fetchNone has no line in"),
    (LIST, "fetchAll(in:)", "fetchAll(in:)\nfetchAll(in:)", "fetchAll(in:) is also in line"),
    (LIST, "fetchAll(in:)\n", "", "fetchAll(in:) is not in"),
    (LIST, "AcmeOptions.pageSize\nAcmeOptions.theme", "AcmeOptions.theme\nAcmeOptions.pageSize", "are not sorted"),
    (GUIDE, "`fetchAll`", "`fetchSome`", "`fetchSome` has no line"),
    (GUIDE, "pageSize", "pageLength", "pageLength is neither"),
    (GUIDE, "24402", "24403", "the code 24403 has no line"),
    (GUIDE, "`chat.history(", "`chat.pages(", "Conversation has no public member pages"),
    (GUIDE, "(vendors/acme.md)", "(vendors/other.md)", "does not link to vendors/acme.md"),
    ("Documentation/guides.md", "(vendors/acme.md)", "", "the page does not link to vendors/acme.md"),
    ("Documentation/guides.md", "(vendors/acme.md)", "(vendors/acme.md) ", None),
]


def run(tables):
    failures = 0
    with tempfile.TemporaryDirectory() as root:

        def write(path, text):
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        def check(writes=False):
            found = tables(root, {"acme": "Acme"})
            found.run(writes)
            return found.problems

        for path, text in FILES.items():
            write(path, text.lstrip("\n"))
        problems = check(writes=True) + check()
        if problems:
            print("the unchanged project has problems:", *problems, sep="\n  ")
            failures += 1
        for path, old, new, expected in CHANGES:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            if old not in text:
                print(f"{path} does not contain {old!r}")
                failures += 1
            write(path, text.replace(old, new, 1))
            problems = check()
            write(path, text)
            if expected is None and problems or expected and not any(expected in problem for problem in problems):
                print(f"{path}, {old!r} → {new!r}: expected {expected!r}, found:", *problems, sep="\n  ")
                failures += 1
    print(f"vendor tables: {len(CHANGES) - failures} of {len(CHANGES)} changes have the expected result")
    return 1 if failures else 0
