#!/usr/bin/env bash
# Searches inputs that crash a decoder of untrusted bytes, with libFuzzer in a build of its own (.build-fuzz).
#
# Usage: scripts/fuzz.sh [--seconds N] [--update] [--list] [TARGET…]     (default: all targets, 60 seconds each)
#
#   --seconds N   search N seconds for each target; 0 only repeats the corpus
#   --update      add the inputs that reach new code to Tests/Fuzz/corpus, with at most 100 files for each target
#   --list        print the targets
#
# A crash, an input that takes more than 10 seconds or 2 GiB, a property that does not hold, and a cost that is not
# linear fail the target. The input is kept in .build-fuzz/failures. Copy it to the target's corpus with the repair.
#
# Needs Linux and the Swift toolchain from swift.org, which contains libFuzzer. SCROLLBACK_FUZZ_BUILD sets the folder of
# the build.
#
# Exit status: 0 if no target failed, 1 if one failed, 2 for wrong arguments or if the build failed.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=60
update=false
list=false
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p'
        exit 0
        ;;
    --seconds)
        [[ ${2:-} =~ ^[0-9]+$ ]] || { echo "--seconds needs a number of seconds." >&2; exit 2; }
        seconds=$2
        shift
        ;;
    --update) update=true ;;
    --list) list=true ;;
    -*)
        echo "There is no option $1. See scripts/fuzz.sh --help." >&2
        exit 2
        ;;
    *) targets+=("$1") ;;
    esac
    shift
done

scratch=${SCROLLBACK_FUZZ_BUILD:-$PWD/.build-fuzz}
toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
fuzzer=$(ls "$toolchain"/lib/clang/*/lib/linux/libclang_rt.fuzzer_no_main-"$(uname -m)".a 2>/dev/null | head -1)
if [ -z "$fuzzer" ]; then
    echo "$toolchain has no libFuzzer. Use a toolchain from swift.org on Linux." >&2
    exit 2
fi
mkdir -p "$scratch"
echo "Building the fuzzer in $scratch. The first build takes several minutes."
if ! SCROLLBACK_FUZZER=$fuzzer swift build --product scrollback-fuzz --scratch-path "$scratch" \
    >"$scratch/build.log" 2>&1; then
    grep -E 'error:' "$scratch/build.log" | sort -u | head -20 >&2
    echo "The build failed. See $scratch/build.log." >&2
    exit 2
fi
program=$scratch/debug/scrollback-fuzz
# Swift's own crash handler would replace libFuzzer's, which keeps the input.
export SWIFT_BACKTRACE=enable=no
# Values that live as long as the process are no leaks.
export ASAN_OPTIONS=detect_leaks=0

known=$("$program" --list)
if $list; then
    echo "$known"
    exit 0
fi
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cut -f1 <<<"$known")
for target in "${targets[@]}"; do
    cut -f1 <<<"$known" | grep -qx -- "$target" ||
        { echo "There is no target $target. See scripts/fuzz.sh --list." >&2; exit 2; }
done

# Prints the last figures of libFuzzer: executions, executions per second, reached edges of the control flow, memory.
summary() {
    awk '
        /^#[0-9]/ {
            executions = substr($1, 2)
            for (i = 2; i < NF; i++) {
                if ($i == "cov:") cov = $(i + 1)
                if ($i == "exec/s:") rate = $(i + 1)
                if ($i == "corp:") corpus = $(i + 1)
            }
        }
        /stat::average_exec_per_sec/ { rate = $2 }
        /stat::number_of_executed_units/ { executions = $2 }
        /stat::slowest_unit_time_sec/ { slowest = $2 }
        /stat::peak_rss_mb/ { rss = $2 " MB" }
        END { printf "%s executions, %s per second, %s edges, corpus %s, slowest %s s, %s\n",
              executions, rate, cov, corpus, slowest, rss }' "$1"
}

# Adds the inputs that reach new code to the corpus, those that reach most first, while it stays small.
# Longer inputs reach more, but those above 2 KB are left out.
merge() {
    local target=$1 found=$2 corpus=$3 merged=$scratch/merged/$1
    rm -rf "$merged"
    mkdir -p "$merged"
    SCROLLBACK_FUZZ_TARGET=$target "$program" -set_cover_merge=1 -detect_leaks=0 -rss_limit_mb=2048 \
        -artifact_prefix="$scratch/failures/$target-" "$merged" "$corpus" "$found" \
        >"$scratch/logs/$target-merge.log" 2>&1 || return 1
    find "$merged" -type f -size -3k -printf '%s %p\n' | sort -rn | cut -d' ' -f2- | while read -r file; do
        [ "$(find "$corpus" -type f | wc -l)" -lt 100 ] || break
        [ "$(cat "$corpus"/* "$file" | wc -c)" -lt 200000 ] || continue
        name=$(sha1sum "$file" | cut -c1-16)
        find "$corpus" -type f -exec cmp -s {} "$file" \; -quit -print | grep -q . || cp "$file" "$corpus/$name"
    done
}

status=0
mkdir -p "$scratch/logs" "$scratch/failures"
for target in "${targets[@]}"; do
    corpus=Tests/Fuzz/corpus/$target
    found=$scratch/found/$target
    log=$scratch/logs/$target.log
    mkdir -p "$corpus" "$found"
    longest=$(awk -F'\t' -v target="$target" '$1 == target { print $2 }' <<<"$known")
    limits=(
        -dict=Tests/Fuzz/words.dict -max_len="$longest" -timeout=10 -detect_leaks=0 -rss_limit_mb=2048
        -artifact_prefix="$scratch/failures/$target-"
    )
    if [ "$seconds" -gt 0 ]; then
        echo "$target: searching for $seconds seconds"
        SCROLLBACK_FUZZ_TARGET=$target "$program" "${limits[@]}" -max_total_time="$seconds" -print_final_stats=1 \
            -report_slow_units=5 -len_control=0 "$found" "$corpus" >"$log" 2>&1
    else
        SCROLLBACK_FUZZ_TARGET=$target "$program" "${limits[@]}" -runs=0 -print_final_stats=1 "$corpus" >"$log" 2>&1
    fi
    if [ $? != 0 ]; then
        status=1
        echo "$target: FAILED. The end of $log:"
        grep -aE 'Fatal error|ERROR: |SUMMARY|Test unit written' "$log" | tail -5
        continue
    fi
    echo "$target: $(summary "$log")"
    if ! timeout 600 "$program" --cost "$target" "$corpus"/* >"$scratch/logs/$target-cost.log" 2>&1; then
        status=1
        echo "$target: FAILED. An input costs more than linear time, or fails when a part of it is repeated:"
        grep -aE 'not linear|bytes: |Fatal error|ERROR: ' "$scratch/logs/$target-cost.log" | head -10
    fi
    if $update; then merge "$target" "$found" "$corpus" || echo "$target: the corpus could not be updated" >&2; fi
done
exit $status
