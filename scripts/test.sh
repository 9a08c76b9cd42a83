#!/usr/bin/env bash
# Runs all tests and prints the failures again at the end. Complete logs: .build/test-*.log.
set -uo pipefail
cd "$(dirname "$0")/.."
trap 'scripts/test-postgres.sh --stop; scripts/test-s3.sh --stop' EXIT
# In CI, the programs for the tests are installed while the compiler works. The same scripts below find them, or report
# why they are missing.
mkdir -p .build
if [ -n "${CI:-}" ]; then
    {
        scripts/push-stand-ins.sh
        scripts/test-postgres.sh
        scripts/test-s3.sh
        scripts/install-haproxy.sh
        scripts/web-tools.sh --browsers
        scripts/install-dependencies.sh WebKitWebDriver:webkit2gtk-driver xvfb-run:xvfb
    } >.build/test-install.log 2>&1 &
fi
built=true
swift build --build-tests || built=false
wait
$built || exit 1
# A program that crashes prints the calls of its threads.
export SWIFT_BACKTRACE=enable=yes,interactive=no,color=no
# If the stand-ins can't be installed, tests that need them are skipped, except in CI.
status=0
if ! scripts/push-stand-ins.sh; then
    echo "The push service stand-ins can't be installed."
# A stand-in that accepts requests that its service refuses would hide errors.
elif ! scripts/push-stand-ins.sh --test 2>&1 | tee .build/test-stand-ins.log; then
    echo "A push service stand-in fails its own tests."
    status=1
fi
# Without these servers, the tests that need them are skipped, except in CI.
scripts/test-postgres.sh || echo "PostgreSQL can't be installed or started."
scripts/test-s3.sh || echo "The S3 server for tests can't be installed or started."
scripts/install-haproxy.sh || echo "HAProxy can't be installed."
# Without the browsers, the tests of the browser SDK are skipped, except in CI.
if ! scripts/web-tools.sh --test 2>&1 | tee .build/test-browser.log; then
    echo "Tests of the browser SDK failed. Screenshots: .build/browser-failures"
    status=1
fi
if ! scripts/test-webkit.sh 2>&1 | tee .build/test-webkit.log; then
    echo "Tests of the chat page in WebKitGTK failed. Screenshots: .build/browser-failures"
    status=1
fi
rm -rf .build/rows
export SCROLLBACK_ROWS=$PWD/.build/rows
# Without a limit, all tests start at once and slow each other down.
at_a_time() { swift test --skip-build --experimental-maximum-parallelization-width "$@" 2>&1; }
at_a_time 8 --skip EndToEndTests | tee .build/test-unit.log || status=1
alone='ShutdownTests|SlowReaderTests'
at_a_time 6 --filter EndToEndTests --skip "$alone" | tee .build/test-end-to-end.log || status=1
# These tests have time limits and must not run in parallel with others.
at_a_time 1 --filter "$alone" | tee -a .build/test-end-to-end.log || status=1
if [ $status != 0 ]; then
    echo "Failures:"
    grep -ahE 'recorded an issue|Fatal error|error: Exited|^FAILED |^ERROR |^E  ' .build/test-*.log | cut -c1-400
    exit 1
fi
scripts/row-table.sh
