#!/usr/bin/env bash
# Applies each mutant of Tests/Mutants to a scratch copy and runs the tests that must fail. Exits with an error if a
# mutant survives, or if a patch is stale: it names a test that does not exist, does not apply or does not build, or its
# tests fail without it.
# Usage: scripts/mutants.sh [--check] [NAME …]
#   NAME     a patch without .patch (default: all)
#   --check  builds nothing, and only checks that the patches apply and that their tests exist
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
copy=$root
only_check=
if [ "${1:-}" = --check ]; then only_check=1 && shift; fi
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in Tests/Mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
filter_of() { sed -n 's/^# Filter: //p' "$root/Tests/Mutants/$1.patch"; }
# The copy is inside the repository but not part of it. Without the ceiling, git apply ignores its files.
plant() {
    (cd "$copy" && GIT_CEILING_DIRECTORIES=$(dirname "$copy") git apply "${@:2}" "$root/Tests/Mutants/$1.patch")
}
build() { (cd "$copy" && swift build --build-tests --scratch-path "$scratch/build"); }
# A mutant may make a test wait forever.
tests() {
    (cd "$copy" && timeout -k 5 "${2:-300}" swift test --skip-build --scratch-path "$scratch/build" --filter "$1")
}
# Prints each alternative of a filter that is not an existing Target, Suite, Target.Suite or [Target.]Suite/function.
missing_tests() {
    local alternative suite target function files
    while IFS= read -r -d '|' alternative; do
        suite=${alternative%%/*} target=Tests function=
        [[ $alternative == */* ]] && function=${alternative##*/}
        [[ $suite == *.* ]] && target=Tests/${suite%%.*}
        suite=${suite##*.}
        [ -d "Tests/$alternative" ] && continue
        files=$(grep -rlwE --include='*.swift' "(struct|class|extension) $suite" "$target" 2>/dev/null) &&
            xargs grep -qw "func ${function:-.*}" <<<"$files" || echo "$alternative"
    done <<<"$1|"
}

stale=0
filters=()
report() {
    echo "$1: Tests/Mutants/$2.patch"
    [ -z "${3:-}" ] || sed 's/^/    /' <<<"$3"
    stale=$((stale + 1))
}
for name in "${names[@]}"; do
    if [ ! -f "Tests/Mutants/$name.patch" ]; then
        report "missing" "$name"
    elif filter=$(filter_of "$name") && [ -z "$filter" ]; then
        report "names no tests (# Filter: …)" "$name"
    elif missing=$(missing_tests "$filter") && [ -n "$missing" ]; then
        report "names tests that do not exist" "$name" "$missing"
    elif ! output=$(plant "$name" --check 2>&1); then
        report "does not apply" "$name" "$output"
    else
        filters+=("$filter")
    fi
done
[ "$stale" -eq 0 ] || { echo "Stale patches: $stale. Update them." >&2; exit 1; }
if [ -n "$only_check" ]; then echo "${#names[@]} mutants apply, and their tests exist"; exit; fi

mkdir -p "${SCROLLBACK_SCRATCH:-.build-mutants}"
scratch=$(cd "${SCROLLBACK_SCRATCH:-.build-mutants}" && pwd)
copy=$scratch/copy
# Keep modification times, so that only files that changed since the last run are rebuilt.
rm -rf "$copy" && mkdir "$copy"
tar -C "$root" --exclude=.build --exclude='.build-*' --exclude=.git -cf - . | tar -C "$copy" -xf -

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
    plant "$name"
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
    plant "$name" --reverse
done
[ "$failed" -eq 0 ] && echo "every mutant was caught"
exit "$((failed > 0))"
