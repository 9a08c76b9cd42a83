#!/usr/bin/env bash
# All tests: what fails is said again at the end, where one looks first. Whole logs: .build/test-unit.log, .build/test-end-to-end.log
set -uo pipefail
cd "$(dirname "$0")/.."
swift build --build-tests || exit 1
# Where it can't be had the tests of push against the stand-ins say so and pass, but in CI.
status=0
if ! scripts/push-stand-ins.sh; then
    echo "the stand-ins for push services can't be installed"
# One that has stopped refusing what its service refuses would let anything pass.
elif ! scripts/push-stand-ins.sh --test; then
    echo "a stand-in for a push service does not hold to its rules"
    status=1
fi
rm -rf .build/rows
export SCROLLBACK_ROWS=$PWD/.build/rows
# Without a limit all tests start at once, and each has to wait for all others.
at_a_time() { swift test --skip-build --experimental-maximum-parallelization-width "$@" 2>&1; }
at_a_time 8 --skip EndToEndTests | tee .build/test-unit.log || status=1
alone='ShutdownTests|SlowReaderTests'
at_a_time 6 --filter EndToEndTests --skip "$alone" | tee .build/test-end-to-end.log || status=1
# What has some seconds for its work has them to itself.
at_a_time 1 --filter "$alone" | tee -a .build/test-end-to-end.log || status=1
if [ $status != 0 ]; then
    echo "what failed:"
    grep -ahE 'recorded an issue|Fatal error|error: Exited' .build/test-unit.log .build/test-end-to-end.log | cut -c1-400
    exit 1
fi
scripts/row-table.sh
