#!/usr/bin/env python3
"""Applies the mutants of Tests/Mutants to a scratch copy and runs the tests that must fail.

Mutants that change different files and name different suites are built together, and then the tests of each one run on
their own. A failure counts if the mutant's "Caught by" names the failed test or its suite. Any other failure may be the
work of another mutant of the batch, so that the mutant is tried again alone. A mutant that makes a test hang ("or a
hanging test") is tried alone from the start.

Exit status: 0 when every mutant is caught. 1 when one survives, or a patch is stale: it names a test that does not
exist, does not apply or does not build, or its tests fail without it.
"""

import argparse
import atexit
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRATCH = os.path.join(ROOT, os.environ.get("SCROLLBACK_SCRATCH", ".build-mutants"))
COPY = os.path.join(SCRATCH, "copy")
BUILD = os.path.join(SCRATCH, "build")
FAILED_TEST = re.compile(r'✘ Test "(.+)" (?:with .+ )?failed after')
FAILED_FILE = re.compile(r"✘ Test .* recorded an issue .*at (\w+)\.swift:\d+")


class Mutant:
    def __init__(self, name):
        self.name = name
        self.path = os.path.join(ROOT, "Tests", "Mutants", name + ".patch")
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        comment = re.sub(r"\s*\n# ?", " ", text.split("\n---")[0])
        self.filter = next(iter(re.findall(r"^# Filter: (.+)$", text, re.M)), "")
        self.catchers = comment.partition("Caught by: ")[2]
        self.files = set(re.findall(r"^\+\+\+ b/(\S+)", text, re.M))
        self.suites = {alternative.split("/")[0].split(".")[-1] for alternative in self.filter.split("|")}

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
        output, status = self.apply("--check")
        return "does not apply:\n" + output if status else None

    @property
    def hangs(self):
        return "a hanging test" in self.catchers

    def fits(self, batch):
        """Whether the mutant can be built together with others."""
        return all(
            not (self.files & other.files or self.suites & other.suites or self.hangs or other.hangs)
            for other in batch)


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


def build():
    return run(["swift", "build", "--build-tests", "--scratch-path", BUILD], COPY)


def test(pattern, timeout=300):
    # Without a limit, all tests start at once and slow each other down.
    options = ["--skip-build", "--experimental-maximum-parallelization-width", "8", "--scratch-path", BUILD]
    # In CI, a test that lacks a file fails. Elsewhere it is skipped, and the mutant would seem to survive.
    return run(["swift", "test", *options, "--filter", pattern], COPY, timeout, env={**os.environ, "CI": "true"})


SOURCES = {}


def test_exists(alternative):
    """Whether an alternative of a filter is an existing Target, Suite, Target.Suite or [Target.]Suite/function."""
    suite, _, function = alternative.partition("/")
    target, _, suite = suite.rpartition(".")
    if not function and os.path.isdir(os.path.join(ROOT, "Tests", suite)):
        return True
    if not SOURCES:
        for path in glob.glob(f"{ROOT}/Tests/**/*.swift", recursive=True):
            with open(path, encoding="utf-8") as file:
                SOURCES[os.path.relpath(path, f"{ROOT}/Tests")] = file.read()
    texts = [text for path, text in SOURCES.items()
             if path.startswith(target) and re.search(rf"\b(struct|class|extension) {suite}\b", text)]
    return any(re.search(rf"\bfunc {function or '.*'}\b", text) for text in texts)


def make_batches(mutants, size):
    batches = []
    for mutant in mutants:
        fitting = (batch for batch in batches if len(batch) < size and mutant.fits(batch))
        batch = next(fitting, None)
        if batch is None:
            batches.append([mutant])
        else:
            batch.append(mutant)
    return batches


def catcher(mutant, output, status, alone):
    """The test that caught a mutant; None if no test did, or if another mutant of the batch may be the reason."""
    failed = FAILED_TEST.findall(output)
    names = failed + FAILED_FILE.findall(output)
    named = next((name for name in names if name in mutant.catchers), None)
    if named or not alone or status == 0:
        return named
    return (failed or ["a hanging test" if status is None else "a crash"])[0]


def try_batch(batch):
    """Returns the test that caught each mutant of a batch by name, or None if the batch doesn't build."""
    alone = len(batch) == 1
    try:
        for mutant in batch:
            output, status = mutant.apply(folder=COPY)
            assert status == 0, output
        output, status = build()
        if status:
            for mutant in batch:
                log(mutant.name, output)
            return None
        found = {}
        for mutant in batch:
            output, status = test(mutant.filter)
            log(mutant.name, output)
            found[mutant.name] = catcher(mutant, output, status, alone)
        return found
    finally:
        for mutant in reversed(batch):
            mutant.apply("--reverse", folder=COPY)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a patch without .patch (default: all)")
    parser.add_argument("--check", action="store_true", help="build nothing; only check that the patches are not stale")
    parser.add_argument("--together", type=int, default=12, metavar="N", help="mutants per build (default: 12)")
    arguments = parser.parse_args()
    patches = sorted(glob.glob(f"{ROOT}/Tests/Mutants/*.patch"))
    known = [os.path.basename(path)[: -len(".patch")] for path in patches]
    unknown = sorted(set(arguments.names) - set(known))
    if unknown:
        parser.error("no such patch in Tests/Mutants: " + ", ".join(unknown))
    mutants = [Mutant(name) for name in arguments.names or known]
    problems = [(mutant.name, problem) for mutant in mutants if (problem := mutant.problem())]
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
    install_stand_ins()
    start_server("postgres")
    start_server("s3")
    print("Building and running the tests without a mutant first.", flush=True)
    output, status = build()
    log("build", output)
    if status:
        sys.exit(output[-2000:])
    # A test that fails without a mutant proves nothing.
    output, status = test("|".join(mutant.filter for mutant in mutants), 3600)
    log("tests", output)
    if status != 0:
        sys.exit("\n".join(line for line in output.splitlines() if "✘" in line) or output[-2000:])

    batches = make_batches(mutants, max(1, arguments.together))
    start = time.monotonic()
    caught, failures = 0, 0
    print(f"{len(mutants)} mutants in {len(batches)} builds", flush=True)
    while batches:
        batch = batches.pop(0)
        found = try_batch(batch)
        for mutant in batch:
            name = found[mutant.name] if found is not None else None
            if name is None and len(batch) > 1:
                batches.append([mutant])
                continue
            caught, failures = caught + (name is not None), failures + (name is None)
            verdict = f"caught    {mutant.name}  by {name}" if name else f"SURVIVED  {mutant.name}"
            if found is None:
                verdict = f"does not build: {mutant.name} (see {SCRATCH}/{mutant.name}.log)"
            print(f"{caught + failures:3} of {len(mutants)}, {time.monotonic() - start:5.0f} s: {verdict}", flush=True)
    if failures:
        sys.exit(f"{failures} of {len(mutants)} mutants were not caught")
    print("every mutant was caught")


if __name__ == "__main__":
    main()
