#!/usr/bin/env python3
"""Checks what the documentation refers to.

- Each symbol link of the DocC pages and doc comments (``ChatClient/open()``) names declarations of Sources.
- Each file name (`Engine+Sync.swift`) and path (`Sources/…`, `ScrollbackEngine/Store`) in the documentation exists.
- Each type name (`MessageStore`) in the documentation occurs in the code, or is a known name of another project.
- Each relative link (`[Search](search.md#words)`) leads to a file, and to a heading if it has an anchor.

Exit status: 0 when all references resolve, 1 otherwise.
"""

import functools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SYMBOL_LINK = re.compile(r"(?<!`)``([A-Za-z_][^`\n]*)``(?!`)")
DECLARATION = re.compile(
    r"\b(?:class|struct|enum|protocol|actor|extension|typealias|associatedtype|func|var|let|macro)\s+`?([\w.]+)`?"
)
CASE_NAME = re.compile(r"[,\s]`?([a-z]\w*)`?(?=[,(=\s]|$)")
FILE_NAME = re.compile(r"`([\w+./-]+\.(?:swift|py|sh|md|js))(?:#[\w-]+)?`")
PATH = re.compile(r"`((?:Sources|Tests|Documentation|Benchmarks|Examples|Web|scripts)/[\w+./-]*)`")
MODULE_PATH = re.compile(r"`([A-Z]\w+)/[\w+./-]*`")
TYPE = re.compile(r"(?<!`)`([A-Z]\w*[a-z]\w*)(?!\.(?:swift|md)`)(?:[.(][^`\n]*)?`(?!`)")
LINK = re.compile(r"\[(?:[^\]`]|`[^`]*`)*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"^\s*(?://|/\*|\*).*$", re.MULTILINE)
# Pages that describe other projects' files, and the history of this one.
ELSEWHERE = ("main.swift", "worker.js", "node.js")  # files of an app, and a word
OTHER_FILES = ("CHANGELOG.md", "Documentation/push-services/", "Tests/PushStandIns/")
# Pages with the names of vendors' APIs, which scripts/vendor-tables.py checks.
VENDOR_PAGES = ("Documentation/vendors/", "Documentation/coming-from-", "Documentation/push-options.md")
# Types of Apple, swift-metrics and browsers.
FOREIGN_TYPES = {"AVMetadataItemFilter", "MetricsSystem", "SharedWorker"}
CODE = (".swift", ".js", ".html", ".py", ".pml", ".json", ".sh")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def declared_names(swift_files):
    names = {os.path.basename(os.path.dirname(path)) for path in swift_files} | set(os.listdir(f"{ROOT}/Sources"))
    for path in swift_files:
        for line in read(path).splitlines():
            code = line.split("//")[0]
            for name in DECLARATION.findall(code):
                names.update(name.split("."))
            if re.match(r"\s*(indirect )?case ", code):
                names.update(CASE_NAME.findall(code))
            names.update(re.findall(r"\b(init|subscript)\b", code))
    return names


def words_of_code(files):
    """The words of all sources, without lines that are comments."""
    words = set()
    for path in files:
        if path.endswith(CODE) and not path.startswith(("Documentation/", "Tests/Fuzz/corpus/")):
            words.update(WORD.findall(COMMENT.sub("", read(path))))
    return words


@functools.cache
def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", FENCE.sub("", read(page)), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = 1
        while anchor in found:
            anchor, count = re.sub(r"-\d+$", "", anchor) + f"-{count}", count + 1
        found.add(anchor)
    return found


def references_of_page(page, existing, words):
    """Yields whether each link, path within a module and type of a page exists, its line and its description."""
    text = FENCE.sub(lambda block: "\n" * block.group().count("\n"), read(page))
    if page == "CONTRIBUTING.md":
        text = re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)  # The first column has names of former versions.

    def matches(pattern):
        return ((match, text.count("\n", 0, match.start()) + 1) for match in pattern.finditer(text))

    for match, number in matches(LINK):
        path, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        folder = os.path.dirname(page) + ("/Resources" if ".docc/" in page else "")
        target = os.path.normpath(os.path.join(folder, path)) if path else page
        yield target in existing, number, f"the target of the link {match.group(1)}"
        if anchor and target.endswith(".md") and target in existing:
            yield anchor in anchors(target), number, f"the heading of the link {match.group(1)}"
    if page.startswith(OTHER_FILES):
        return
    for match, number in matches(MODULE_PATH):
        module, path = match.group(1), match.group().strip("`").rstrip("/")
        homes = [home for home in ("Sources", "Tests") if f"{home}/{module}" in existing]
        if homes:
            yield any(f"{home}/{path}" in existing for home in homes), number, f"the path {path}"
    if not page.startswith(VENDOR_PAGES):
        for match, number in matches(TYPE):
            yield match.group(1) in words | FOREIGN_TYPES, number, f"the type {match.group(1)}"


def main():
    tracked = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True
    ).splitlines()
    files = [path for path in tracked if os.path.exists(os.path.join(ROOT, path))]
    swift_files = [path for path in files if path.startswith("Sources/") and path.endswith(".swift")]
    pages = [path for path in files if path.endswith(".md")]
    names = declared_names(swift_files)
    folders = {os.path.dirname(path) for path in files}
    folders |= {part for folder in folders for part in prefixes(folder)}
    checked, failures = 0, []

    def check(exists, path, number, reference):
        nonlocal checked
        checked += 1
        if not exists:
            failures.append(f"{path}:{number}: {reference} does not exist")

    for path in swift_files + pages:
        for number, line in enumerate(read(path).splitlines(), 1):
            if path.endswith(".swift"):
                if "///" not in line:
                    continue
                line = line[line.index("///") :]
            for link in SYMBOL_LINK.findall(line):
                for part in link.split("/"):
                    name = re.split(r"[(-]", part)[0]
                    check(name in names, path, number, f"the declaration {name} (``{link}``)")
            if path.endswith(".swift") or path.startswith(OTHER_FILES):
                continue
            for name in FILE_NAME.findall(line):
                if not name.startswith((".build/", "Sources/", "Tests/")) and "NAME" not in name:
                    exists = any(file == name or file.endswith("/" + name.lstrip("/")) for file in files)
                    check(exists or name in ELSEWHERE, path, number, f"the file {name}")
            for name in PATH.findall(line):
                name = name.rstrip("/").replace("/AREA/NAME.swift", "")
                check(name in folders or name in files, path, number, f"the path {name}")
    existing, words = folders | set(files), words_of_code(files)
    for path in pages:
        for exists, number, reference in references_of_page(path, existing, words):
            check(exists, path, number, reference)
    for failure in failures:
        print(failure)
    if failures:
        print(f"{len(failures)} of {checked} references don't resolve.")
        return 1
    print(f"references: {checked} symbols, files, paths, types and links exist")
    return 0


def prefixes(folder):
    while folder:
        yield folder
        folder = os.path.dirname(folder)


sys.exit(main())
