"""Puts many mutants into one Swift source file, of which a test run activates at most one.

A mutant changes a few lines of one function, or the initial value of one variable. The function gets a second body,
and the variable a second value, which are used when the mutant is active:

    func total() -> Int { sum + 1 }        func total() -> Int { if activeMutant == 7 { sum } else { sum + 1 } }
    static let limit = 100                 static let limit = activeMutant == 8 ? (200) : (100)

So one build serves all mutants, and a failed test can only be the work of the one that was active. The literature calls
this mutant schemata. A mutant that changes anything else, such as a parameter's default, can't be put in this way.
"""

import re

# Declared in each module with mutants. 0 means that no mutant is active.
DECLARATION = """\
import Glibc

let activeMutant = getenv("SCROLLBACK_MUTANT").map { Int32(atoi($0)) } ?? 0
"""

MODIFIERS = (
    r"(?:(?:@\w+(?:\([^()]*\))?|public|package|internal|private|fileprivate|static|class|final|override|mutating"
    r"|nonmutating|convenience|required|nonisolated|isolated|borrowing|consuming)\s+)*")
REGEX_LITERAL = re.compile(r"(?<=[(,=:\[ ])/(?![ /*])(?:\\.|[^/\\\n])+/(?=[).,\] ])")
STATEMENT = re.compile(rf"^[ \t]*({MODIFIERS})([A-Za-z_]+|\.)", re.M)
FUNCTION_KEYWORDS = {"func", "init", "deinit", "subscript", "var", "get", "set"}


def blank(text):
    """The text with spaces instead of comments and the letter x instead of strings and regular expressions."""
    result = list(text)
    index = 0

    def erase(start, end):
        for position in range(start, end):
            if result[position] != "\n":
                result[position] = " "

    def string_end(start):
        """The end of the string literal that starts at `start`, which is erased."""
        hashes = len(re.match("#*", text[start:]).group())
        quote = '"""' if text.startswith('"""', start + hashes) else '"'
        closing, escape = quote + "#" * hashes, "\\" + "#" * hashes
        position = start + hashes + len(quote)
        while not text.startswith(closing, position):
            if text.startswith(escape + "(", position):
                # An interpolation is code, and may contain strings.
                depth, position = 1, position + len(escape) + 1
                while depth:
                    if text[position] == '"':
                        position = string_end(position)
                        continue
                    depth += {"(": 1, ")": -1}.get(text[position], 0)
                    position += 1
            elif text.startswith(escape, position):
                position += len(escape) + 1
            else:
                position += 1
        result[start:position + len(closing)] = "x" * (position + len(closing) - start)
        return position + len(closing)

    while index < len(text):
        if text.startswith("//", index):
            end = text.find("\n", index)
            erase(index, end)
            index = end
        elif text.startswith("/*", index):
            end = text.index("*/", index) + 2
            erase(index, end)
            index = end
        elif re.match('#*"', text[index:index + 4]):
            index = string_end(index)
        elif literal := REGEX_LITERAL.match(text, index):
            result[index:literal.end()] = "x" * (literal.end() - index)
            index = literal.end()
        else:
            index += 1
    return "".join(result)


def function_bodies(text):
    """The ranges between the braces of functions, initializers and computed properties, in order of their starts."""
    code = blank(text)
    opened, bodies = [], []
    # Where the declaration or statement that a brace belongs to can start.
    boundary = 0
    for match in re.finditer("[{}]", code):
        position = match.start()
        if match.group() == "{":
            header = code[boundary:position]
            # The default value of a parameter can be a closure, after which the declaration goes on.
            is_argument = header.count("(") > header.count(")")
            opened.append((position, not is_argument and opens_function(header), boundary if is_argument else None))
            boundary = position + 1
        else:
            start, is_function, before = opened.pop()
            if is_function:
                bodies.append((start + 1, position))
            boundary = position + 1 if before is None else before
    return sorted(bodies)


def opens_function(header):
    """Whether the text before a brace declares a function. A closure or a statement with a block does not."""
    statements = list(STATEMENT.finditer(header))
    for statement in reversed(statements):
        keyword = statement.group(2)
        if keyword in ("where", "async", "throws", "rethrows"):
            continue
        if keyword not in FUNCTION_KEYWORDS and not in_parentheses(header, statement.start()):
            return False
        if keyword in FUNCTION_KEYWORDS:
            # `let names = users.map {` opens a closure, and so does a default argument.
            return not re.search(r"(?<![=!<>])=(?![=>])", outside_parentheses(header[statement.end():]))
    return False


def in_parentheses(code, position):
    before = code[:position]
    return before.count("(") > before.count(")")


def outside_parentheses(code):
    depth, result = 0, ""
    for character in code:
        depth += character in "(["
        if depth == 0:
            result += character
        depth -= character in ")]"
    return result


def initial_values(text):
    """The ranges of the values after `let … =` and `var … =`, in order of their starts."""
    code = blank(text)
    values = []
    for match in re.finditer(r"\b(?:let|var) \w+(?:: [^=\n]+)? = ", code):
        depth, end = 0, match.end()
        while depth > 0 or code[end] != "\n":
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[end], 0)
            end += 1
        values.append((match.end(), end))
    return values


def changed_part(original, mutated):
    """The innermost function or value that contains all that differs.

    Returns its range in the original, its mutated text, and whether it is a function.
    """
    start = next((i for i, (a, b) in enumerate(zip(original, mutated)) if a != b), min(len(original), len(mutated)))
    same = 0
    limit = min(len(original), len(mutated)) - start
    while same < limit and original[-1 - same] == mutated[-1 - same]:
        same += 1
    end = len(original) - same
    for parts, is_function in [(function_bodies(original), True), (initial_values(original), False)]:
        around = [part for part in parts if part[0] <= start and end <= part[1]]
        if around:
            part = max(around)
            return part, mutated[part[0]:len(mutated) - (len(original) - part[1])], is_function
    return None


def combine(original, mutants):
    """The text with all mutants, of which `mutants` has the numbers and whole texts.

    Returns the text, and the numbers of the mutants that could not be put into it.
    """
    changes, left_out = {}, []
    for number, mutated in mutants:
        found = changed_part(original, mutated)
        if found is None:
            left_out.append(number)
        else:
            changes.setdefault((found[0], found[2]), []).append((number, found[1]))
    text, growth = original, []
    # Functions inside others come first, since the second body of the outer one must not contain their mutants.
    for ((start, end), is_function), bodies in sorted(changes.items(), reverse=True):
        inner_end = end + sum(length for position, length in growth if start <= position < end)
        unchanged = text[start:inner_end]
        if is_function:
            branches = "".join(f"if activeMutant == {number} {{{body}\n}} else " for number, body in bodies)
            replaced = f" {branches}{{{unchanged}\n}} "
        else:
            branches = "".join(f"activeMutant == {number} ? ({value}) : " for number, value in bodies)
            replaced = f"{branches}({unchanged})"
        text = text[:start] + replaced + text[inner_end:]
        growth.append((start, len(replaced) - (inner_end - start)))
    return text, left_out


def mutant_at(text, line):
    """The mutant whose part has a line of a combined text, or the nearest one above it."""
    above = re.findall(r"activeMutant == (\d+)", "\n".join(text.split("\n")[:line]))
    return int(above[-1]) if above else 0
