#!/usr/bin/env python3
"""Checks what the documentation refers to.

- Each symbol link of the DocC pages and doc comments (``ChatClient/open()``) names declarations of Sources.
- Each file name (`Engine+Sync.swift`) and path (`Sources/…`) in
  the documentation exists.

Exit status: 0 when all references resolve, 1 otherwise.
"""

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
FILE_NAME = re.compile(r"`([\w+./-]+\.(?:swift|py|sh|md))(?:#[\w-]+)?`")
PATH = re.compile(r"`((?:Sources|Tests|Documentation|Benchmarks|Examples|scripts)/[\w+./-]*)`")
# Pages that describe other projects' files, and the history of this one.
ELSEWHERE = ("main.swift",)  # a file of an app
OTHER_FILES = ("CHANGELOG.md", "Documentation/push-services/", "Tests/PushStandIns/")


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
                    exists = any(file == name or file.endswith("/" + name) for file in files)
                    check(exists or name in ELSEWHERE, path, number, f"the file {name}")
            for name in PATH.findall(line):
                name = name.rstrip("/").replace("/AREA/NAME.swift", "")
                check(name in folders or name in files, path, number, f"the path {name}")
    for failure in failures:
        print(failure)
    if failures:
        print(f"{len(failures)} of {checked} references don't resolve.")
        return 1
    print(f"references: {checked} symbol links, files and paths exist")
    return 0


def prefixes(folder):
    while folder:
        yield folder
        folder = os.path.dirname(folder)


sys.exit(main())
