#!/usr/bin/env bash
# Runs all tests with full counts. Writes the log to .build/test-long.log.
set -euo pipefail
cd "$(dirname "$0")/.."
export SCROLLBACK_SEEDS=${SCROLLBACK_SEEDS:-10000}
export SCROLLBACK_LONG=1
swift build --build-tests
{
    scripts/check-outside-app.sh
    scripts/push-stand-ins.sh --test
    scripts/check-model.sh --mutants
    trap 'scripts/test-postgres.sh --stop; scripts/test-s3.sh --stop' EXIT
    scripts/test-postgres.sh
    scripts/test-s3.sh
    scripts/install-haproxy.sh
    SCROLLBACK_BROWSER_SEEDS=200 scripts/web-tools.sh --test
    scripts/test-webkit.sh
    scripts/check-web-vectors.sh --skip-build --seeds 5000
    at_a_time() { swift test --skip-build --experimental-maximum-parallelization-width "$@"; }
    at_a_time 8 --skip EndToEndTests
    # These tests have time limits and must not run in parallel with others.
    alone='ShutdownTests|SlowReaderTests'
    at_a_time 6 --filter EndToEndTests --skip "$alone"
    at_a_time 1 --filter "$alone"
    # Both need a build of their own and tests that run longer, so they run with the usual counts.
    env -u SCROLLBACK_LONG SCROLLBACK_SEEDS=100 scripts/test-tsan.sh
    env -u SCROLLBACK_LONG SCROLLBACK_SEEDS=1000 scripts/coverage.py
    env -u SCROLLBACK_LONG scripts/fuzz.sh --seconds 60
    SCROLLBACK_SEED=$RANDOM SECONDS_EACH=200 scripts/schemathesis.sh
    # Their goals are durations, so they need a release build, and nothing else may run at the same time.
    make -C Benchmarks attack soak
} 2>&1 | tee .build/test-long.log
