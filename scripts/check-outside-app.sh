#!/usr/bin/env bash
# Builds a small app that takes the products `Scrollback` and `ScrollbackUI` alone, runs it, and sees that no server library
# was built for it. (Configuration comes with AsyncHTTPClient, which the SDK fetches files with.)
set -euo pipefail
cd "$(dirname "$0")/../Examples/OutsideApp"
scratch=../../.build-outside
swift build --scratch-path $scratch
built=$(find $scratch/debug/ -name '*.swift.o' | sed -E 's|.*/debug/||; s|\.build/.*||' | sort -u)
if echo "$built" | grep -E '^(Hummingbird|JWTKit|ArgumentParser|ScrollbackEngine|ScrollbackServer)'; then
    echo "the outside app built these: the products Scrollback and ScrollbackUI must need no server library" >&2
    exit 1
fi
$scratch/debug/OutsideApp
echo "outside app: builds, runs, and needs no server library"
