#!/usr/bin/env python3
"""Checks that every target imports only what Package.swift declares for it.

Package.swift is the one statement of the module graph. SwiftPM itself lets a target import what its dependencies depend
on, so a missing declaration goes unnoticed without this check. The table of modules in Documentation/architecture.md is
compared with Package.swift too. The products of the SDK must not depend on the server or its libraries.

Exit status: 0 when the imports, the products of the SDK and the table agree with Package.swift, 1 otherwise.
"""

import json
import os
import re
import subprocess
import sys

SYSTEM = {
    "AVFoundation", "CoreGraphics", "Darwin", "Dispatch", "Foundation", "FoundationNetworking", "Glibc",
    "ImageIO", "Network", "Observation", "Security", "Synchronization", "UIKit", "UniformTypeIdentifiers",
}  # fmt: skip
# The products of the SDK, and the targets and packages that they must not depend on.
SDK = ("Scrollback", "ScrollbackUI")
SERVER = {
    "ScrollbackEngine", "ScrollbackServer", "ScrollbackSQLite", "ScrollbackPostgres", "ScrollbackNATS",
    "ScrollbackPush", "hummingbird", "jwt-kit", "swift-argument-parser", "swift-service-lifecycle",
}  # fmt: skip
# Products that contain more modules than the one they are named after.
MODULES_OF_PRODUCT = {"GRDB": {"GRDB", "GRDBSQLite"}}
IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public |package |internal |private )?import\s+"
    r"(?:struct |class |enum |protocol |func |var |let |typealias )?(\w+)"
)


def declared(package):
    """The modules that each target of Sources may import."""
    allowed = {}
    for target in package["targets"]:
        if target["type"] == "test" or target.get("path", "").startswith(("Tests", "Benchmarks")):
            continue
        modules = set()
        for dependency in target["dependencies"]:
            ((kind, values),) = dependency.items()
            name = values[0]
            modules |= MODULES_OF_PRODUCT.get(name, {name}) if kind == "product" else {name}
        allowed[target["name"]] = modules
    return allowed


def check_imports(allowed):
    for name in sorted(allowed):
        for folder, _, files in os.walk(f"Sources/{name}"):
            for file in sorted(f for f in files if f.endswith(".swift")):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as source:
                    for number, line in enumerate(source, 1):
                        found = IMPORT.match(line)
                        if found and found.group(1) not in allowed[name] | SYSTEM | {name}:
                            yield f"{path}:{number}: Package.swift does not declare {found.group(1)} for {name}"


def check_sdk(package):
    """Follows the dependencies of the SDK's products to targets and packages of the server."""
    targets = {target["name"]: target for target in package["targets"]}
    packages = {entry["identity"] for dependency in package["dependencies"] for (entry,) in dependency.values()}
    for name in sorted(SERVER - targets.keys() - packages):
        yield f"scripts/check-imports.py: Package.swift has no target and no package {name}"
    paths = {name: [name] for name in SDK}
    left = list(SDK)
    while left:
        name = left.pop()
        for dependency in targets[name]["dependencies"]:
            ((kind, values),) = dependency.items()
            found = values[1] if kind == "product" else values[0]
            if found in paths:
                continue
            paths[found] = [*paths[name], found]
            if found in SERVER:
                yield f"Package.swift: an app with the SDK builds {' → '.join(paths[found])}"
            elif found in targets:
                left.append(found)


def check_table(allowed):
    """Compares the rows "| `Target` | purpose | project modules | …" of architecture.md with Package.swift."""
    documented = {}
    with open("Documentation/architecture.md", encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            name = cells[0].strip("`")
            if line.startswith("| `") and len(cells) == 4 and name in allowed:
                documented[name] = number
                listed = {cell.strip().strip("`") for cell in cells[2].split(",")} - {"none", ""}
                actual = {m.removeprefix("Scrollback") or m for m in allowed[name] if m in allowed}
                if listed != actual:
                    yield (
                        f"Documentation/architecture.md:{number}: {name} imports {', '.join(sorted(actual)) or 'none'}"
                        f" according to Package.swift, not {', '.join(sorted(listed)) or 'none'}"
                    )
    for name in sorted(set(allowed) - set(documented)):
        yield f"Documentation/architecture.md: the table of modules has no row for {name}"


def main():
    if "--help" in sys.argv:
        print(__doc__)
        return 0
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    dump = subprocess.run(["swift", "package", "dump-package"], capture_output=True, text=True, check=True).stdout
    package = json.loads(dump)
    allowed = declared(package)
    problems = [*check_imports(allowed), *check_sdk(package), *check_table(allowed)]
    for problem in problems:
        print(problem)
    if not problems:
        print(f"imports: {len(allowed)} targets import only what Package.swift declares")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
