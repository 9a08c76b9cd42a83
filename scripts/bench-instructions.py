#!/usr/bin/env python3
"""Counts the instructions of fixed work and compares them with Benchmarks/instructions.json.

Each operation of `scrollback-bench instructions` runs under valgrind, once with its work and once with twice its work.
The difference is the cost of the work without preparation. Instructions repeat where seconds do not, so a change of a
few percent is visible on a busy machine. Requires Linux, valgrind, strip, and a release build of scrollback-bench.

Usage: scripts/bench-instructions.py [OPTION …] [OPERATION …]

  --update          record the measured costs, instead of comparing them with the file
  --profile FOLDER  also write the most expensive functions of each operation to FOLDER/profile-OPERATION.txt
  --bench PATH      the program (default: .build/release/scrollback-bench)
  --jobs N          the number of concurrent runs (default: the number of processors)
  --json            print the result as JSON
  --list            print the operations

Exit status: 0 when each operation costs at most 5 % more than recorded, 1 when one costs more or is not recorded, 2
when an operation can't be measured.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = os.path.join(ROOT, "Benchmarks", "instructions.json")
# The largest accepted ratio of the measured and the recorded cost.
LIMIT = 1.05
# How often a run does its work: the difference of the two runs is one round.
ROUNDS = (1, 2)
# Seconds after which a run is considered stuck.
TIMEOUT = 900
# The length of the paths of temporary folders.
PATH_LENGTH = 160
# The number of functions in each list of a profile.
PROFILED = 40
ANNOTATED = re.compile(r"^\s*([\d,]+) \([ \d.]+%\)\s+(?:[^ ]*?:)?(.+?)(?: \[([^\]]*)\])?\s*$")


class Failure(Exception):
    """The reason why an operation can't be measured."""


def output(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        text = (result.stderr or result.stdout)[-2000:]
        raise Failure(f"{command[0]} failed with status {result.returncode}: {text}")
    return result.stdout


def environment(folder):
    """The variables of a run.

    Hash tables of the Swift runtime depend on addresses, so the allocator must not depend on the timing of threads.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    fixed = {"LC_ALL": "C", "MALLOC_ARENA_MAX": "1", "SWIFT_DETERMINISTIC_HASHING": "1"}
    return kept | fixed | {"HOME": folder, "TMPDIR": folder}


def count(program, folder, operation, rounds):
    """Runs an operation and returns the path of its profile and its number of instructions."""
    start = time.monotonic()
    # Paths of the same length take the same memory.
    place = os.path.join(folder, f"{operation}.{rounds}")
    place = os.path.join(place, "-" * max(1, PATH_LENGTH - len(place) - 1))
    os.makedirs(place)
    profile = os.path.join(folder, f"{operation}.{rounds}.callgrind")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command += [os.path.relpath(program, place), "instructions", operation]
    try:
        output([*command, "--repeat", str(rounds)], cwd=place, env=environment(place), timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Failure(f"{operation} did not finish in {TIMEOUT} s.") from None
    with open(profile, encoding="utf-8", errors="replace") as file:
        total = next((int(line.split()[1]) for line in file if line.startswith("totals:")), None)
    if total is None:
        raise Failure(f"valgrind wrote no total for {operation}.")
    print(f"{operation}: {rounds} of {ROUNDS[-1]} done, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return profile, total


def functions(profile, inclusive):
    """The instructions of each function of a run."""
    listing = output(
        ["callgrind_annotate", "--auto=no", "--threshold=100", f"--inclusive={'yes' if inclusive else 'no'}", profile])
    costs = defaultdict(int)
    for line in listing.splitlines():
        if (match := ANNOTATED.match(line)) and match.group(2) != "PROGRAM TOTALS":
            cost, name, library = match.groups()
            # Libraries without symbols have only addresses.
            name = f"{name} in {os.path.basename(library or '?')}" if name.startswith("0x") else name
            costs[name] += int(cost.replace(",", ""))
    return costs


def write_profile(path, operation, profiles):
    """Writes the functions with the largest costs of one operation, without preparation."""
    lines = [f"{operation['name']}: {operation['cost']:,} instructions for each {operation['unit']}"]
    for title, inclusive in (("Self", False), ("Inclusive", True)):
        once, twice = (functions(profile, inclusive) for profile in profiles)
        costs = {name: (cost - once.get(name, 0)) / operation["count"] for name, cost in twice.items()}
        top = sorted(costs.items(), key=lambda item: -item[1])[: PROFILED if not inclusive else 2 * PROFILED]
        lines += ["", f"{title}: instructions, percent, function"]
        lines += [f"{cost:12,.0f} {100 * cost / operation['cost']:5.1f} %  {name}" for name, cost in top]
    text = output(["swift", "demangle", "--simplified"], input="\n".join(lines))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def measure(program, operations, options):
    """Returns the operations with their costs."""
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        # valgrind 3.19 can't read the debug information of Swift 6.3.
        stripped = os.path.join(folder, "scrollback-bench")
        output(["strip", "--strip-debug", "-o", stripped, program])
        runs = {
            (operation["name"], rounds): pool.submit(count, stripped, folder, operation["name"], rounds)
            for rounds in reversed(ROUNDS) for operation in operations
        }  # fmt: skip
        try:
            for operation in operations:
                results = [runs[operation["name"], rounds].result() for rounds in ROUNDS]
                operation["cost"] = round((results[1][1] - results[0][1]) / operation["count"])
                if options.profile:
                    os.makedirs(options.profile, exist_ok=True)
                    path = os.path.join(options.profile, f"profile-{operation['name']}.txt")
                    write_profile(path, operation, [profile for profile, _ in results])
        except Failure:
            pool.shutdown(cancel_futures=True)
            raise
    return operations


def compare(operations, record):
    """Adds the recorded cost and the result to each operation."""
    for operation in operations:
        recorded = record.get("operations", {}).get(operation["name"])
        operation["recorded"] = recorded
        operation["ratio"] = round(operation["cost"] / recorded, 4) if recorded else None
        operation["passed"] = bool(recorded) and operation["cost"] <= recorded * LIMIT
    return operations


def print_table(operations):
    print(f"{'operation':14} {'instructions':>12} {'recorded':>12} {'ratio':>6}  one operation is a")
    for operation in operations:
        recorded, ratio = operation["recorded"], operation["ratio"]
        print(
            f"{operation['name']:14} {operation['cost']:12,} {f'{recorded:,}' if recorded else 'not recorded':>12} "
            f"{f'{ratio:.3f}' if ratio else '':>6}  {operation['unit']}")


def parse_arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--bench", default=os.path.join(ROOT, ".build", "release", "scrollback-bench"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--profile")
    for flag in ("--update", "--json", "--list", "--help", "-h"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def run(options):
    for tool, package in (("valgrind", "valgrind"), ("strip", "binutils")):
        if not shutil.which(tool):
            raise Failure(f"{tool} is missing. Install {package}, on Linux.")
    program = os.path.abspath(options.bench)
    if not os.access(program, os.X_OK):
        raise Failure(f"{program} is missing. Run swift build -c release --product scrollback-bench.")
    listing = json.loads(output([program, "instructions", "--list"]))
    known = {operation["name"]: operation for operation in listing["operations"]}
    if options.list:
        for operation in known.values():
            print(f"{operation['name']:14} {operation['unit']}")
        return 0
    for name in options.operations:
        if name not in known:
            raise Failure(f"{name} is not an operation. --list prints the operations.")
    try:
        with open(RECORD, encoding="utf-8") as file:
            record = json.load(file)
    except FileNotFoundError:
        record = {}
    machine = {
        "architecture": platform.machine(), "sqlite": listing["sqlite"],
        "swift": output(["swift", "--version"]).splitlines()[0], "valgrind": output(["valgrind", "--version"]).strip(),
    }  # fmt: skip

    start = time.monotonic()
    selected = [known[name] for name in options.operations or known]
    operations = compare(measure(program, selected, options), record)
    seconds = time.monotonic() - start
    if options.update:
        kept = record.get("operations", {}) if options.operations else {}
        costs = {name: cost for name, cost in kept.items() if name in known}
        costs |= {operation["name"]: operation["cost"] for operation in operations}
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(machine | {"operations": costs}, file, indent=2, sort_keys=True)
            file.write("\n")
    if options.json:
        print(json.dumps({"machine": machine, "operations": operations, "seconds": round(seconds)}, indent=2))
    else:
        print_table(operations)
    for name, value in machine.items():
        if record and record.get(name) != value and not options.update:
            print(f"note: {name} is {value}, but the costs were recorded with {record.get(name)}.", file=sys.stderr)
    failed = [operation["name"] for operation in operations if not operation["passed"]]
    if failed and not options.update:
        print(
            f"instructions: {', '.join(failed)}: costs more than {100 * (LIMIT - 1):.0f} % above "
            "Benchmarks/instructions.json, or is not recorded.\nIf the change is intended, run "
            "scripts/bench-instructions.py --update and commit the file with the reason.", file=sys.stderr)
        return 1
    print(f"instructions: {len(operations)} operations in {seconds:.0f} s", file=sys.stderr)
    return 0


def main():
    options = parse_arguments()
    if options.help or options.h:
        print(__doc__)
        return 0
    try:
        return run(options)
    except Failure as failure:
        print(f"instructions: {failure}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
