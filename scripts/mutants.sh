#!/usr/bin/env bash
# Plants each bug of Tests/Mutants in a scratch copy and runs the tests that must catch it. A bug that survives fails.
# Usage: scripts/mutants.sh [NAME …]     (names of patches without .patch; all by default)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scratch=${SCROLLBACK_SCRATCH:-.build-mutants}
mkdir -p "$scratch/copy"
copy=$(cd "$scratch/copy" && pwd)
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in Tests/Mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
survivors=0
sync_copy() { rsync -a --delete --exclude .build --exclude '.build-*' --exclude .git "$root/" "$copy/"; }
command -v rsync >/dev/null || { echo "mutants need rsync: apt-get install rsync" >&2; exit 1; }
sync_copy
echo "building the tests without a bug first …"
(cd "$copy" && swift build --build-tests --scratch-path "$copy/../build" >"$copy/../build.log" 2>&1) || { tail -20 "$copy/../build.log"; exit 1; }
for name in "${names[@]}"; do
    patch=$root/Tests/Mutants/$name.patch
    filter=$(sed -n 's/^# Filter: //p' "$patch")
    sync_copy
    (cd "$copy" && patch -p1 --quiet <"$patch")
    start=$SECONDS
    if (cd "$copy" && swift build --build-tests --scratch-path "$copy/../build" >"$copy/../$name.log" 2>&1); then
        if (cd "$copy" && swift test --skip-build --scratch-path "$copy/../build" --filter "${filter:-.}" >>"$copy/../$name.log" 2>&1); then
            echo "SURVIVED  $name  ($((SECONDS - start)) s)"
            survivors=$((survivors + 1))
        else
            caught=$(grep -m1 -oE '✘ Test "[^"]+"' "$copy/../$name.log" || echo "?")
            echo "caught    $name  by ${caught#✘ Test }  ($((SECONDS - start)) s)"
        fi
    else
        echo "does not build: $name"
        survivors=$((survivors + 1))
    fi
done
[ "$survivors" -eq 0 ] && echo "every planted bug was caught"
exit "$survivors"
