#!/usr/bin/env python3
"""Runs the unit tests with code coverage and prints the line coverage of each module of Sources.

The build is separate from other builds (.build-coverage). EndToEndTests are not included, because most of the code that
they test runs in child processes.

Usage: scripts/coverage.py [--report]

  --report  print the table of the last run, without running tests

Exit status: 0 when the tests pass, otherwise the exit status of `swift test`.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict

SCRATCH = ".build-coverage"


def main():
    if "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__)
        return 0
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    command = ["swift", "test", "--enable-code-coverage", "--scratch-path", SCRATCH]
    if "--report" not in sys.argv:
        # Coverage does not grow with the number of seeds.
        environment = {"SCROLLBACK_SEEDS": "100"} | os.environ
        width = ["--experimental-maximum-parallelization-width", "8"]
        status = subprocess.run([*command, *width, "--skip", "EndToEndTests"], env=environment).returncode
        if status:
            return status
    path = subprocess.run([*command, "--show-codecov-path"], capture_output=True, text=True, check=True).stdout.strip()
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["data"][0]["files"]

    covered, lines = defaultdict(int), defaultdict(int)
    for file in files:
        folder, module, *_ = os.path.relpath(file["filename"]).split(os.sep)
        if folder == "Sources":
            for name in (module, "all"):
                covered[name] += file["summary"]["lines"]["covered"]
                lines[name] += file["summary"]["lines"]["count"]
    print("| module | lines | covered | |\n|---|---:|---:|---:|")
    for name in [*sorted(lines.keys() - {"all"}), "all"]:
        print(f"| {name} | {lines[name]:,} | {covered[name]:,} | {100 * covered[name] / max(1, lines[name]):.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
