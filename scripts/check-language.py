#!/usr/bin/env python3
"""Checks the wording of everything a person reads in this repository.

These rules hold for comments, documentation, test names and texts shown to people (CONTRIBUTING.md, "Wording"):

1. Vague words ("told", "whoever", "somebody" and so on) hide the actor of a sentence. Each kind of text may have fewer
   than 5 of them in 1,000 lines.
2. No line is longer than 120 columns, except table rows and lines that consist of one unbreakable word.
3. Contract codes ("row 12", "A15", "History 3") stay out of documentation, doc comments and test names. Tests carry
   them as traits.
4. Words that were renamed ("sealed", "guestbook" and so on) do not return.
5. A sentence of the documentation or of a doc comment has at most 30 words. Code and its enumerations count as one
   word. Tables, code blocks and pages with quotations are not checked. (The goal is 25 words.)

Usage: scripts/check-language.py [--list] [--root FOLDER] [PATH …]

  --list         print every line that has a vague word, not only the density
  --root FOLDER  check another checkout, for a comparison

Exit status: 0 when all rules hold, 1 otherwise.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict

LIMIT = 5.0
WIDTH = 120
GENERATED = ":(exclude)Web/bundle"
VAGUE = re.compile(
    r"\b(told|tells|tell|hears|heard|whoever|nobody|somebody|anew|whom|meanwhile)\b", re.IGNORECASE
)
# Names in code that contain these words are not prose.
CODE = re.compile(r"`[^`]*`")
CODES = re.compile(r"\b(?:[Rr]ows? \d+|A\d{1,2}\b(?! paper)|[Hh]istor(?:y|ies) \d+)")
# Text of the contract itself, and of file formats that are quoted from elsewhere.
CODES_ALLOWED = ("Documentation/contract-rows.md",)
RENAMED = re.compile(
    r"\b(guestbooks?|turnstiles?|planted bugs?|rooms of the house|shut[- ]outs?|workshops?)\b", re.IGNORECASE
)

SENTENCE_WORDS = 30
# Pages of quotations, histories and generated tables, and the sources of tests.
SENTENCES_ALLOWED = (
    "CHANGELOG.md", "Documentation/contract-rows.md", "Documentation/push-services/", "Documentation/vendors/", "Tests/",
)  # fmt: skip
LINK = re.compile(r"!?\[((?:[^\]`]|`[^`]*`)*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)*]*\s+(?=[\"“(*]*[A-Z0-9{])")


def swift_tokens(text):
    """Yields (kind, line, text) for every comment and string literal of Swift source; kind is 'comment', 'doc' or
    'string'. Text inside an interpolation is code and is left out of the string."""
    i, line, n = 0, 1, len(text)
    while i < n:
        c = text[i]
        if c == "\n":
            line += 1
            i += 1
        elif text.startswith("//", i):
            end = text.find("\n", i)
            end = n if end < 0 else end
            kind = "doc" if text.startswith("///", i) and not text.startswith("////", i) else "comment"
            yield kind, line, text[i:end]
            i = end
        elif text.startswith("/*", i):
            depth, j = 1, i + 2
            while j < n and depth:
                if text.startswith("/*", j):
                    depth, j = depth + 1, j + 2
                elif text.startswith("*/", j):
                    depth, j = depth - 1, j + 2
                else:
                    j += 1
            for offset, part in enumerate(text[i:j].split("\n")):
                yield "comment", line + offset, part
            line += text.count("\n", i, j)
            i = j
        elif c == '"' or (c == "#" and re.match(r'#+"', text[i : i + 8])):
            hashes = len(re.match(r"#*", text[i:]).group())
            j = i + hashes
            quote = '"""' if text.startswith('"""', j) else '"'
            j += len(quote)
            closing, escape = quote + "#" * hashes, "\\" + "#" * hashes
            start_line, parts = line, []
            while j < n and not text.startswith(closing, j):
                if text.startswith(escape + "(", j):
                    depth, k = 1, j + len(escape) + 1
                    while k < n and depth:
                        if text[k] == "(":
                            depth += 1
                        elif text[k] == ")":
                            depth -= 1
                        elif text[k] == '"':
                            k += 1
                            while k < n and text[k] != '"':
                                k += 2 if text[k] == "\\" else 1
                        k += 1
                    line += text.count("\n", j, k)
                    parts.append("…")
                    j = k
                elif text.startswith(escape, j):
                    parts.append(" " if text[j + len(escape) : j + len(escape) + 1] == "n" else "")
                    j += len(escape) + 1
                else:
                    if text[j] == "\n":
                        line += 1
                        if quote == '"':
                            break
                    parts.append(text[j])
                    j += 1
            yield "string", start_line, "".join(parts)
            i = j + len(closing)
        else:
            i += 1


def is_prose(text):
    """Whether a string literal reads like a sentence rather than a key, an SQL statement or a format."""
    words = re.findall(r"[A-Za-z]{2,}", text)
    if len(words) < 3 or " " not in text.strip():
        return False
    return not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|WITH|BEGIN|\{|\[|<)", text)


def pieces_of(path, text):
    """Yields (category, line, text) for everything a person reads in a file."""
    if path.endswith(".swift"):
        is_test = path.startswith("Tests/") or "/StoreConformance/" in path
        for match in re.finditer(r"func `([^`]+)`", text):
            yield "test names", text.count("\n", 0, match.start()) + 1, match.group(1)
        for kind, line, part in swift_tokens(text):
            if kind == "doc" and not is_test:
                yield "doc comments", line, part
            elif kind in ("comment", "doc"):
                yield "comments", line, part
            elif is_test:
                start = sum(len(l) + 1 for l in text.split("\n", line)[: line - 1])
                before = text[max(0, start - 40) : start] + text[start:].split("\n", 1)[0]
                if re.search(r"@(Test|Suite)\(\s*\"", before) and len(part) > 2:
                    yield "test names", line, part
            elif is_prose(part):
                for offset, row in enumerate(part.split("\n")):
                    yield "texts", line + offset, row
    elif path.endswith(".md"):
        fenced = False
        for number, row in enumerate(text.split("\n"), 1):
            if row.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced and row.strip():
                yield "documentation", number, row
    elif path.endswith("openapi.json"):
        for number, row in enumerate(text.split("\n"), 1):
            if match := re.match(r'\s*"(?:summary|description)": "(.*)"', row):
                yield "documentation", number, match.group(1)
    elif path.endswith(".js"):
        is_test = path.startswith("Web/tests/")
        for match in re.finditer(r"Deno\.test\([\"`]([^\"`]+)[\"`]", text):
            yield "test names", text.count("\n", 0, match.start()) + 1, match.group(1)
        for number, row in enumerate(text.split("\n"), 1):
            if re.match(r"\s*(/\*\*|\*|//)", row):
                yield "comments" if is_test or re.match(r"\s*//", row) else "doc comments", number, row
    elif path.endswith((".sh", ".py", ".toml")) or os.path.basename(path) in ("Makefile", "run"):
        for number, row in enumerate(text.split("\n"), 1):
            if re.match(r"\s*#|.*## ", row) or '"""' in row or "echo " in row:
                yield "comments", number, row
    elif path.endswith(".patch"):
        for number, row in enumerate(text.split("\n"), 1):
            if row.startswith("#"):
                yield "comments", number, row
            elif row.startswith("---"):
                break


def paragraphs(path, text):
    """Yields (line, text) for each paragraph and list item of a page, or of the doc comments of a Swift source."""
    if path.endswith(".swift"):
        text = re.sub(r"^(?!\s*///).*$|^\s*/// ?", "", text, flags=re.MULTILINE)
    parts, start, fenced = [], 0, False
    for number, row in enumerate(text.split("\n") + [""], 1):
        is_fence = row.lstrip().startswith("```")
        item = re.match(r"\s*(?:[-*]|\d+\.) (.*)", row)
        is_code = fenced or is_fence or (not parts and row.startswith("    ") and not item)
        ends = is_code or not row.strip() or row.lstrip().startswith(("|", "#", "<"))
        if parts and (ends or item):
            yield start, " ".join(parts)
            parts = []
        fenced ^= is_fence
        if not ends:
            start = start if parts else number
            parts.append(item.group(1) if item else row.strip())


def long_sentences(path, text):
    """Yields (line, number of words, beginning) for each sentence that is too long."""
    if not path.endswith((".md", ".swift")) or path.startswith(SENTENCES_ALLOWED):
        return
    for line, paragraph in paragraphs(path, text):
        # A capital X stands for code and for a link, so that a sentence may begin with one.
        prose = re.sub(r"``[^`]*``|`[^`]*`", "X", LINK.sub(r"X\1", paragraph))
        prose = re.sub(r"X(?:,? (?:and |or )?X)+", "X", prose)
        for sentence in SENTENCE_END.split(prose):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > SENTENCE_WORDS:
                yield line, len(words), " ".join(words[:6])


def tracked(root, paths):
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "--", *paths, GENERATED], capture_output=True, text=True, check=True
    ).stdout
    return [p for p in listing.split("\n") if p]


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(__doc__)
        return 0
    shows_all = "--list" in arguments
    root = "."
    if "--root" in arguments:
        at = arguments.index("--root")
        root = arguments[at + 1]
        del arguments[at : at + 2]
    else:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    paths = [a for a in arguments if not a.startswith("--")]

    lines, vague, problems = defaultdict(int), defaultdict(int), []
    for path in tracked(root, paths):
        if path == "scripts/check-language.py":
            continue
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for category, number, part in pieces_of(path, text):
            lines[category] += 1
            prose = CODE.sub("", part)
            found = VAGUE.findall(prose)
            vague[category] += len(found)
            if found and shows_all:
                print(f"{path}:{number}: {', '.join(found)}: {part.strip()}")
            if category in ("doc comments", "documentation", "test names") and path not in CODES_ALLOWED:
                for code in CODES.findall(prose):
                    problems.append(f"{path}:{number}: contract code \"{code}\" belongs in a test's trait")
            for word in RENAMED.findall(prose):
                problems.append(f"{path}:{number}: \"{word}\" was renamed (CONTRIBUTING.md, Wording)")
        for number, count, beginning in long_sentences(path, text):
            problems.append(f"{path}:{number}: a sentence of {count} words, more than {SENTENCE_WORDS}: {beginning} …")
        if path.endswith((".swift", ".md", ".sh", ".py", ".js")) or os.path.basename(path) == "Makefile":
            for number, row in enumerate(text.split("\n"), 1):
                is_table = path.endswith(".md") and row.lstrip().startswith("|")
                if len(row) > WIDTH and not is_table and " " in row.strip():
                    problems.append(f"{path}:{number}: {len(row)} columns, more than {WIDTH}")

    failed = bool(problems)
    for problem in problems:
        print(problem)
    for category in sorted(lines):
        density = 1000 * vague[category] / lines[category]
        failed = failed or density >= LIMIT
        print(f"language: {category}: {vague[category]} vague words in {lines[category]} lines, {density:.1f} per 1,000")
    if failed:
        print(f"language: at most {LIMIT:g} per 1,000 lines, and no problem listed above")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
