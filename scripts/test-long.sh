#!/usr/bin/env bash
# Every test with full counts. Logs go to .build/test-long.log.
set -euo pipefail
cd "$(dirname "$0")/.."
export SCROLLBACK_SEEDS=${SCROLLBACK_SEEDS:-10000}
export SCROLLBACK_LONG=1
swift build --build-tests
{
    swift test --skip-build --experimental-maximum-parallelization-width 8 --skip EndToEndTests
    swift test --skip-build --experimental-maximum-parallelization-width 6 --filter EndToEndTests
    SCROLLBACK_SEED=$RANDOM SECONDS_EACH=200 scripts/schemathesis.sh
} 2>&1 | tee .build/test-long.log
