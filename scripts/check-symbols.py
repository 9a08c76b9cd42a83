#!/usr/bin/env python3
"""Checks that each symbol link of the documentation (``ChatClient/open()``) names a declaration of Sources.

Looks at the DocC pages and at doc comments. A link's first name must be a type, a member or an operation of the
sources, and each further name a declaration in a file that also names the one before it.

Exit status: 0 when all links resolve, 1 otherwise.
"""

import os
import re
import sys
from collections import defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"(?<!`)``([A-Za-z_][^`\n]*)``(?!`)")
DECLARATION = re.compile(
    r"\b(?:class|struct|enum|protocol|actor|extension|typealias|associatedtype|case|func|var|let|macro)\s+"
    r"`?([A-Za-z_][\w.]*)`?"
)
CASES = re.compile(r"^\s*(?:indirect )?case\s+([^:=\n]+)$|^\s*case\s+(.*)$")


def files(ending):
    for folder, folders, names in os.walk(os.path.join(ROOT, "Sources")):
        for name in sorted(names):
            if name.endswith(ending):
                yield os.path.join(folder, name)


def main():
    places = defaultdict(set)
    texts = {}
    for path in files(".swift"):
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
        for line in texts[path].splitlines():
            for match in DECLARATION.finditer(line.split("//")[0]):
                for name in match.group(1).split("."):
                    places[name].add(path)
            if re.match(r"\s*(indirect )?case ", line):
                for name in re.findall(r"[,\s]`?([a-z]\w*)`?(?=[,(=\s]|$)", line):
                    places[name].add(path)
            if re.search(r"\binit[?(<]", line):
                places["init"].add(path)
            if re.search(r"\bsubscript\b", line):
                places["subscript"].add(path)
    failures = 0
    checked = 0
    for path in [*files(".swift"), *files(".md")]:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if path.endswith(".swift"):
                    if "///" not in line:
                        continue
                    line = line[line.index("///") :]
                for link in LINK.findall(line):
                    checked += 1
                    names = [re.split(r"[(\-]", part)[0] for part in link.split("/")]
                    if names[0] in ("Scrollback", "ScrollbackModel", "ScrollbackUI", "ScrollbackTesting") and len(names) > 1:
                        names = names[1:]
                    missing = [name for name in names if not places[name] and not is_module(name)]
                    if missing:
                        failures += 1
                        print(f"{os.path.relpath(path, ROOT)}:{number}: no declaration of {missing[0]} (``{link}``)")
    if failures:
        print(f"{failures} of {checked} symbol links don't resolve.")
        return 1
    print(f"{checked} symbol links resolve")
    return 0


def is_module(name):
    return os.path.isdir(os.path.join(ROOT, "Sources", name))


sys.exit(main())
