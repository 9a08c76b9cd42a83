#!/usr/bin/env bash
# Applies each mutant of Tests/Mutants to a scratch copy and runs the tests that must fail. Exits with an error if a
# mutant survives, or if a patch is stale: it names no test, does not apply or does not build, or its tests fail without
# it.
# Usage: scripts/mutants.sh [NAME …]     (names of patches without .patch, default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
mkdir -p "${SCROLLBACK_SCRATCH:-.build-mutants}"
scratch=$(cd "${SCROLLBACK_SCRATCH:-.build-mutants}" && pwd)
copy=$scratch/copy
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in Tests/Mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
filter_of() { sed -n 's/^# Filter: //p' "$root/Tests/Mutants/$1.patch"; }
# Without fuzz, because a patch that applies at a similar position creates a different mutant.
plant() { (cd "$copy" && patch -p1 --batch --forward --fuzz=0 "${@:2}" <"$root/Tests/Mutants/$1.patch"); }
build() { (cd "$copy" && swift build --build-tests --scratch-path "$scratch/build"); }
# A mutant may make a test wait forever.
tests() {
    (cd "$copy" && timeout -k 5 "${2:-300}" swift test --skip-build --scratch-path "$scratch/build" --filter "$1")
}

# Keep modification times, so that only files that changed since the last run are rebuilt.
rm -rf "$copy" && mkdir "$copy"
tar -C "$root" --exclude=.build --exclude='.build-*' --exclude=.git -cf - . | tar -C "$copy" -xf -

stale=0
filters=()
for name in "${names[@]}"; do
    if [ ! -f "$root/Tests/Mutants/$name.patch" ]; then
        echo "missing: Tests/Mutants/$name.patch"
        stale=$((stale + 1))
    elif [ -z "$(filter_of "$name")" ]; then
        echo "names no tests (# Filter: …): $name"
        stale=$((stale + 1))
    elif ! plant "$name" --dry-run >"$scratch/$name.log" 2>&1; then
        echo "does not apply: $name"
        sed 's/^/    /' "$scratch/$name.log"
        stale=$((stale + 1))
    else
        filters+=("$(filter_of "$name")")
    fi
done
[ "$stale" -eq 0 ] || { echo "$stale patches are stale. Update them." >&2; exit 1; }

echo "Building and running the tests without a mutant first."
build >"$scratch/build.log" 2>&1 || { tail -20 "$scratch/build.log"; exit 1; }
# A test that fails without a mutant proves nothing.
all=$(IFS='|' && echo "${filters[*]}")
if ! tests "$all" 3600 >"$scratch/tests.log" 2>&1; then
    grep '✘' "$scratch/tests.log" || tail -20 "$scratch/tests.log"
    exit 1
fi

failed=0
for name in "${names[@]}"; do
    plant "$name" --quiet
    start=$SECONDS
    if ! build >"$scratch/$name.log" 2>&1; then
        echo "does not build: $name (see $scratch/$name.log)"
        failed=$((failed + 1))
    elif tests "$(filter_of "$name")" >>"$scratch/$name.log" 2>&1; then
        echo "SURVIVED  $name  ($((SECONDS - start)) s)"
        failed=$((failed + 1))
    else
        caught=$(grep -m1 -oE '✘ Test "[^"]+"' "$scratch/$name.log" || echo "a crash or a hanging test")
        echo "caught    $name  by ${caught#✘ Test }  ($((SECONDS - start)) s)"
    fi
    plant "$name" --quiet --reverse
done
[ "$failed" -eq 0 ] && echo "every mutant was caught"
exit "$((failed > 0))"
