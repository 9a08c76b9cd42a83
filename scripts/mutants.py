#!/usr/bin/env python3
"""Applies the mutants of Tests/Mutants to a scratch copy and runs the tests that must fail.

One build has most mutants, and each run of tests activates one of them (see switched_mutants.py). A mutant that can't
be switched, for instance because it changes a constant, gets a build of its own.

Exit status: 0 when every mutant is caught. 1 when one survives, or a patch is stale: it names a test that does not
exist, does not apply or does not build, or its tests fail without it.
"""

import argparse
import atexit
import concurrent.futures
import functools
import glob
import os
import re
import subprocess
import sys
import time

import switched_mutants

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRATCH = os.path.join(ROOT, os.environ.get("SCROLLBACK_SCRATCH", ".build-mutants"))
COPY = os.path.join(SCRATCH, "copy")
BUILD = os.path.join(SCRATCH, "build")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
FAILED_TEST = re.compile(r'✘ Test "(.+)" (?:with .+ )?failed after')
FAILED_FILE = re.compile(r"✘ Test .* recorded an issue .*at (\w+)\.swift:\d+")
COMPILE_ERROR = re.compile(rf"{re.escape(COPY)}/(\S+\.swift):(\d+):\d+: error:")


class Mutant:
    def __init__(self, name, number):
        self.name = name
        self.number = number
        self.path = os.path.join(ROOT, "Tests", "Mutants", name + ".patch")
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        comment = re.sub(r"\s*\n# ?", " ", text.split("\n---")[0])
        self.filter = next(iter(re.findall(r"^# Filter: (.+)$", text, re.M)), "")
        self.catchers = comment.partition("Caught by: ")[2]
        self.files = re.findall(r"^\+\+\+ b/(\S+)", text, re.M)

    @property
    def file(self):
        return self.files[0]

    def apply(self, *options, folder=ROOT):
        # The copy is inside the repository but not part of it. Without the ceiling, git apply ignores its files.
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)}
        return run(["git", "apply", *options, self.path], folder, env=environment)

    def problem(self):
        """What makes the patch stale, or None."""
        if not self.filter:
            return "names no tests (# Filter: …)"
        missing = [alternative for alternative in self.filter.split("|") if not test_exists(alternative)]
        if missing:
            return "names tests that do not exist: " + ", ".join(missing)
        if len(self.files) != 1:
            return "must change one file"
        output, status = self.apply("--check")
        return "does not apply:\n" + output if status else None

    def source(self):
        """The whole file that the mutant changes, with its change."""
        original = read(self.file)
        output, status = self.apply(folder=COPY)
        assert status == 0, output
        mutated = read(self.file)
        write(self.file, original)
        return mutated


def read(file):
    with open(os.path.join(COPY, file), encoding="utf-8") as stream:
        return stream.read()


def write(file, text):
    with open(os.path.join(COPY, file), "w", encoding="utf-8") as stream:
        stream.write(text)


def run(command, folder, timeout=None, **options):
    """Runs a command; returns its output and its exit status, or None if it ran for too long."""
    process = subprocess.Popen(
        command, cwd=folder, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True, **options)
    try:
        return process.communicate(timeout=timeout)[0], process.returncode
    except BaseException as reason:
        # The test program has a process group of its own, but belongs to the session of the command.
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise
        return process.communicate()[0], None


def log(name, output):
    with open(os.path.join(SCRATCH, name + ".log"), "w", encoding="utf-8") as file:
        file.write(output)


def install_stand_ins():
    """Installs what tests need besides the copy: the stand-ins of push services."""
    folder = os.path.join(SCRATCH, "push-stand-ins")
    output, status = run(["scripts/push-stand-ins.sh"], COPY, env={**os.environ, "VENV": folder})
    if status:
        sys.exit(output[-2000:])
    os.makedirs(os.path.join(COPY, ".build"))
    os.symlink(folder, os.path.join(COPY, ".build", "push-stand-ins"))


def start_server(name):
    """Starts a server of tests, "postgres" or "s3", for the copy, and stops it at the end."""
    folder = os.path.join(SCRATCH, f"test-{name}")
    environment = {**os.environ, "DIR": folder}
    output, status = run([f"scripts/test-{name}.sh"], COPY, env=environment)
    if status:
        sys.exit(output[-2000:])
    atexit.register(run, [f"scripts/test-{name}.sh", "--stop"], ROOT, env=environment)
    os.symlink(folder, os.path.join(COPY, ".build", f"test-{name}"))


def find_chat_logs():
    """Sets the folder of the chat logs, which tests look for beside the repository and would not find from the copy."""
    for parent in (ROOT, os.path.dirname(ROOT)):
        folder = os.path.join(parent, "shared", "data", "chatlogs")
        if os.path.isdir(folder):
            os.environ.setdefault("SCROLLBACK_CHATLOGS", folder)


def build():
    return run(["swift", "build", "--build-tests", "--scratch-path", BUILD], COPY)


def test(pattern, mutant=0, timeout=300, width=4):
    # Not `swift test`, of which only one may run in a folder.
    program = glob.glob(f"{BUILD}/debug/*.xctest")[0]
    # Without a limit, all tests start at once and slow each other down.
    options = ["--testing-library", "swift-testing", "--experimental-maximum-parallelization-width", str(width)]
    # In CI, a test that lacks a file fails. Elsewhere it is skipped, and the mutant would seem to survive.
    environment = {**os.environ, "CI": "true", "SCROLLBACK_MUTANT": str(mutant), "SWIFT_BACKTRACE": "enable=no"}
    output, status = run([program, *options, "--filter", pattern], COPY, timeout, env=environment)
    return COLOR.sub("", output), status


@functools.cache
def test_files():
    """The path below Tests of each Swift file, with the types and functions that it declares."""
    files = []
    for path in glob.glob(f"{ROOT}/Tests/**/*.swift", recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        types = set(re.findall(r"\b(?:struct|class|extension) (\w+)", text))
        files.append((os.path.relpath(path, f"{ROOT}/Tests"), types, set(re.findall(r"\bfunc (\w+|`.+?`)", text))))
    return files


def test_exists(alternative):
    """Whether an alternative of a filter is an existing Target, Suite, Target.Suite or [Target.]Suite/function."""
    suite, _, function = alternative.partition("/")
    target, _, suite = suite.rpartition(".")
    if not function and os.path.isdir(os.path.join(ROOT, "Tests", suite)):
        return True
    return any(path.startswith(target) and suite in types and (function in functions if function else functions)
               for path, types, functions in test_files())


def catcher(mutant, output, status):
    """The test that caught a mutant, or None."""
    failed = FAILED_TEST.findall(output)
    names = failed + FAILED_FILE.findall(output)
    named = next((name for name in names if name in mutant.catchers), None)
    if named or status == 0:
        return named
    return (failed or ["a hanging test" if status is None else "a crash"])[0]


def build_switched(mutants):
    """Builds the copy with all mutants that can be switched, and returns them."""
    switched = list(mutants)
    sources = {mutant: mutant.source() for mutant in mutants}
    originals = {mutant.file: read(mutant.file) for mutant in mutants}
    while True:
        for file, original in originals.items():
            here = [mutant for mutant in switched if mutant.file == file]
            text, left_out = switched_mutants.combine(
                original, [(mutant.number, sources[mutant]) for mutant in here])
            switched = [mutant for mutant in switched if mutant.file != file or mutant.number not in left_out]
            if text != read(file):
                write(file, text)
            if here:
                write(os.path.join(*file.split("/")[:2], "ActiveMutant.swift"), switched_mutants.DECLARATION)
        output, status = build()
        log("build", output)
        if status == 0:
            return switched, sources
        failed = {
            switched_mutants.mutant_at(read(file), int(line)) for file, line in set(COMPILE_ERROR.findall(output))}
        failed &= {mutant.number for mutant in switched}
        if not failed:
            sys.exit(output[-2000:])
        switched = [mutant for mutant in switched if mutant.number not in failed]


def try_switched(mutant):
    return catcher(mutant, *logged_test(mutant, mutant.number))


def logged_test(mutant, number):
    output, status = test(mutant.filter, number)
    log(mutant.name, output)
    return output, status


def try_alone(mutant, source):
    """Builds the copy with one mutant that can't be switched, and returns the test that caught it, or None."""
    before = read(mutant.file)
    write(mutant.file, source)
    try:
        output, status = build()
        if status:
            log(mutant.name, output)
            return None
        return catcher(mutant, *logged_test(mutant, 0))
    finally:
        write(mutant.file, before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a patch without .patch (default: all)")
    parser.add_argument("--check", action="store_true", help="build nothing; only check that the patches are not stale")
    parser.add_argument("--skip-unmutated", action="store_true", help="don't run the tests without a mutant first")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs of tests at a time (default: 2)")
    arguments = parser.parse_args()
    patches = sorted(glob.glob(f"{ROOT}/Tests/Mutants/*.patch"))
    known = [os.path.basename(path)[: -len(".patch")] for path in patches]
    unknown = sorted(set(arguments.names) - set(known))
    if unknown:
        parser.error("no such patch in Tests/Mutants: " + ", ".join(unknown))
    mutants = [Mutant(name, known.index(name) + 1) for name in arguments.names or known]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(Mutant.problem, mutants)
        problems = [(mutant.name, problem) for mutant, problem in zip(mutants, found) if problem]
    for name, problem in problems:
        print(f"Tests/Mutants/{name}.patch {problem}")
    if problems:
        sys.exit(f"Stale patches: {len(problems)}. Update them.")
    if arguments.check:
        print(f"{len(mutants)} mutants apply, and their tests exist")
        return

    os.makedirs(SCRATCH, exist_ok=True)
    # Keep modification times, so that only files that changed since the last run are rebuilt.
    subprocess.run(["rm", "-rf", COPY], check=True)
    os.makedirs(COPY)
    pack = "tar -C {} --exclude=.build --exclude='.build-*' --exclude=.git -cf - . | tar -C {} -xf -".format(ROOT, COPY)
    subprocess.run(pack, shell=True, check=True)
    find_chat_logs()
    install_stand_ins()
    start_server("postgres")
    start_server("s3")
    start = time.monotonic()

    def report(text):
        print(f"{time.monotonic() - start:5.0f} s: {text}", flush=True)

    report("building")
    switched, sources = build_switched(mutants)
    alone = [mutant for mutant in mutants if mutant not in switched]
    report(f"{len(switched)} mutants in one build, and {len(alone)} in builds of their own")
    # A test that fails without a mutant proves nothing.
    if not arguments.skip_unmutated:
        report("running the tests without a mutant")
        output, status = test("|".join(sorted({mutant.filter for mutant in mutants})), timeout=5400, width=8)
        log("tests", output)
        if status != 0:
            sys.exit("\n".join(line for line in output.splitlines() if "✘" in line) or output[-2000:])

    survivors, done = [], 0

    def judge(mutant, name):
        nonlocal done
        done += 1
        if name is None:
            survivors.append(mutant.name)
        verdict = f"caught    {mutant.name}  by {name}" if name else f"SURVIVED  {mutant.name} (see {SCRATCH})"
        report(f"{done:3} of {len(mutants)}: {verdict}")

    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        runs = {pool.submit(try_switched, mutant): mutant for mutant in switched}
        for finished in concurrent.futures.as_completed(runs):
            judge(runs[finished], finished.result())
    for mutant in alone:
        judge(mutant, try_alone(mutant, sources[mutant]))
    if survivors:
        sys.exit(f"{len(survivors)} of {len(mutants)} mutants were not caught: {', '.join(survivors)}")
    print("every mutant was caught")


if __name__ == "__main__":
    main()
