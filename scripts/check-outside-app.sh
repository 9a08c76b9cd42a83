#!/usr/bin/env bash
# Builds and runs a small app that uses only the products `Scrollback` and `ScrollbackUI`, and checks that its build
# contains no server library. (Configuration is allowed, because AsyncHTTPClient, the SDK's HTTP client, depends on it.)
set -euo pipefail
cd "$(dirname "$0")/../Examples/OutsideApp"
scratch=../../.build-outside
swift build --scratch-path $scratch
built=$(find $scratch/debug/ -name '*.swift.o' | sed -E 's|.*/debug/||; s|\.build/.*||' | sort -u)
if echo "$built" | grep -E '^(Hummingbird|JWTKit|ArgumentParser|ScrollbackEngine|ScrollbackServer)'; then
    echo "The outside app built these modules, but the products must not depend on server libraries." >&2
    exit 1
fi
$scratch/debug/OutsideApp
echo "outside app: builds, runs, and depends on no server library"
