#!/usr/bin/env bash
# Runs the tests of the engine and the SDK with the thread sanitizer, in a build of their own (.build-tsan). A data race
# fails the run. Writes the log to .build-tsan/test.log.
# Usage: scripts/test-tsan.sh [FILTER]     (default: engine, client state machines and SDK)
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$PWD/.build-tsan
# The sanitizer makes tests about ten times slower.
export SCROLLBACK_SEEDS=${SCROLLBACK_SEEDS:-100}
mkdir -p "$scratch"
swift build --build-tests --sanitize=thread --scratch-path "$scratch"
if [ "$(uname)" = Linux ]; then
    "$(dirname "$(readlink -f "$(command -v swift)")")/clang" -O1 -shared -fPIC scripts/tsan-mutex.c \
        -o "$scratch/tsan-mutex.so" -ldl
    preload=(LD_PRELOAD="$scratch/tsan-mutex.so")
fi
env ${preload[@]+"${preload[@]}"} swift test --skip-build --sanitize=thread --scratch-path "$scratch" \
    --experimental-maximum-parallelization-width 8 \
    --filter "${1:-^(ScrollbackEngineTests|ScrollbackSyncTests|ScrollbackTests)\.}" 2>&1 | tee "$scratch/test.log"
