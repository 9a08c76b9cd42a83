#!/usr/bin/env bash
# All tests: what fails is said again at the end, where one looks first. Whole logs: .build/test-unit.log, .build/test-end-to-end.log
set -uo pipefail
cd "$(dirname "$0")/.."
swift build --build-tests || exit 1
rm -rf .build/rows
export SCROLLBACK_ROWS=$PWD/.build/rows
status=0
swift test --skip-build --skip EndToEndTests 2>&1 | tee .build/test-unit.log || status=1
swift test --skip-build --filter EndToEndTests --skip ShutdownTests 2>&1 | tee .build/test-end-to-end.log || status=1
# A server that ends has some seconds for it: alone, it has them to itself.
swift test --skip-build --filter ShutdownTests 2>&1 | tee -a .build/test-end-to-end.log || status=1
if [ $status != 0 ]; then
    echo "what failed:"
    grep -ahE 'recorded an issue|Fatal error|error: Exited' .build/test-unit.log .build/test-end-to-end.log | cut -c1-400
    exit 1
fi
scripts/row-table.sh
