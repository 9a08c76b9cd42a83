"""Puts many mutants into one Swift source file, of which a test run activates at most one.

A mutant changes a few lines of one function. Its function gets a second body, which runs when the mutant is active:

    func total() -> Int { sum + 1 }
    func total() -> Int { if activeMutant == 7 { sum } else { sum + 1 } }

So one build serves all mutants, and a failed test can only be the work of the one that was active. The literature calls
this mutant schemata. A mutant that changes no function body can't be put in this way.
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
STATEMENT = re.compile(rf"^[ \t]*({MODIFIERS})([A-Za-z_]+|\.)", re.M)
FUNCTION_KEYWORDS = {"func", "init", "deinit", "subscript", "var", "get", "set"}


def blank(text):
    """The text with comments and the contents of strings replaced by spaces, so that only braces of code are left."""
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
        erase(start, position + len(closing))
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
            opened.append((position, opens_function(code[boundary:position])))
        else:
            start, is_function = opened.pop()
            if is_function:
                bodies.append((start + 1, position))
        boundary = position + 1
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


def changed_body(original, mutated):
    """The innermost function that contains all that differs: its range in the original, and its mutated body."""
    start = next((i for i, (a, b) in enumerate(zip(original, mutated)) if a != b), min(len(original), len(mutated)))
    same = 0
    limit = min(len(original), len(mutated)) - start
    while same < limit and original[-1 - same] == mutated[-1 - same]:
        same += 1
    end = len(original) - same
    around = [body for body in function_bodies(original) if body[0] <= start and end <= body[1]]
    if not around:
        return None
    body = max(around)
    return body, mutated[body[0]:len(mutated) - (len(original) - body[1])]


def combine(original, mutants):
    """The text with all mutants, of which `mutants` has the numbers and whole texts.

    Returns the text, and the numbers of the mutants that could not be put into it.
    """
    changes, left_out = {}, []
    for number, mutated in mutants:
        found = changed_body(original, mutated)
        if found is None:
            left_out.append(number)
        else:
            changes.setdefault(found[0], []).append((number, found[1]))
    text, growth = original, []
    # Functions inside others come first, since the second body of the outer one must not contain their mutants.
    for (start, end), bodies in sorted(changes.items(), reverse=True):
        inner_end = end + sum(length for position, length in growth if start <= position < end)
        # Each mutant has the original body but for its own change.
        branches = "".join(f"if activeMutant == {number} {{{body}\n}} else " for number, body in bodies)
        replaced = f" {branches}{{{text[start:inner_end]}\n}} "
        text = text[:start] + replaced + text[inner_end:]
        growth.append((start, len(replaced) - (inner_end - start)))
    return text, left_out


def mutant_at(text, line):
    """The mutant whose body has a line of a combined text, or the nearest one above it."""
    above = re.findall(r"if activeMutant == (\d+)", "\n".join(text.split("\n")[:line]))
    return int(above[-1]) if above else 0
