#!/usr/bin/env bash
# Checks that the state machines in Web/sdk do the same as those in Swift: the tests write the histories of random calls
# (Documentation/vectors.md), and the JavaScript machines repeat them. Then each mutant of the JavaScript machines must
# show a difference.
#
#   --seeds N      the number of seeds, of which each has about 17 histories (default: 700)
#   --skip-build   uses the tests as they are built
set -euo pipefail
cd "$(dirname "$0")/.."
seeds=700
skips_build=false
while [ $# -gt 0 ]; do
    case $1 in
    --seeds)
        seeds=${2:-}
        if [ $# -gt 1 ]; then shift; fi
        ;;
    --skip-build) skips_build=true ;;
    *) echo "Unknown option $1. The options are --seeds N and --skip-build."; exit 1 ;;
    esac
    shift
done
[[ $seeds =~ ^[1-9][0-9]*$ ]] || { echo "--seeds needs a number above 0."; exit 1; }
$skips_build || swift build --build-tests
file=$PWD/.build/web-vectors.jsonl
log=.build/web-vectors.log
SCROLLBACK_VECTORS=$file SCROLLBACK_SEEDS=$seeds swift test --skip-build --filter VectorTests 2>&1 |
    tee "$log" | grep --line-buffered '^vectors:' || { cat "$log"; exit 1; }
scripts/web-tools.sh deno run --no-remote --allow-read tests/check-vectors.js "$file"
scripts/web-tools.sh deno run --no-remote --allow-read --allow-write="${TMPDIR:-/tmp}" tests/check-mutants.js "$file"
