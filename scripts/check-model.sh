#!/usr/bin/env bash
# Checks the model of several nodes (Tests/Model/nodes.pml) with SPIN, which searches all of its states: no assertion
# fails, and every history ends with all messages on all devices.
#
# Usage: scripts/check-model.sh [--mutants]
#
#   --mutants   also breaks one rule of the model at a time, and checks that SPIN finds each error
#
# On Debian, it installs SPIN if it is missing. It needs a C compiler, one core, about a minute and 1.2 GB of memory.
#
# Exit status: 0 if the model is right (and SPIN finds each mutant), 1 otherwise, 2 for wrong arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
with_mutants=false
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p'
        exit 0
        ;;
    --mutants) with_mutants=true ;;
    *)
        echo "There is no option $1. See scripts/check-model.sh --help." >&2
        exit 2
        ;;
    esac
    shift
done
command -v spin >/dev/null || scripts/install-dependencies.sh spin
model=$(<Tests/Model/nodes.pml)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# The bounds of each search. More messages or faults multiply the number of states by about 40.
safety="-DMESSAGES=3 -DFAULTS=1"
liveness="-DMESSAGES=2 -DFAULTS=1"

# search KIND: searches all states of model.pml and sets `result` to complete, error or incomplete. The output of the
# verifier is in the file `output`.
search() {
    local bounds compile run
    if [ "$1" = safety ]; then
        bounds=$safety compile="-DSAFETY -DNOCLAIM" run="-E"
    else
        # A state is stored once for each process. NFAIR=4 has room for 14 processes.
        bounds=$liveness compile="-DNFAIR=4" run="-a -f"
    fi
    rm -f pan* model.pml.trail
    # shellcheck disable=SC2086 # These are lists of options.
    if ! spin $bounds -a model.pml >output 2>&1 ||
        ! ${CC:-cc} -O2 -w -DNOREDUCE -DMEMLIM=1800 $compile -o pan pan.c >>output 2>&1; then
        cat output >&2
        echo "The model can't be compiled." >&2
        exit 1
    fi
    # shellcheck disable=SC2086
    ./pan $run -m100000 -w23 >output 2>&1 || true
    result=incomplete
    if grep -q '^pan:[0-9]*: .*\(violated\|cycle\)' output; then
        result=error
    elif grep -q 'errors: 0' output && ! grep -q 'Search not completed\|max search depth too small' output; then
        result=complete
    fi
}

check() {
    search "$1"
    case $result in
    complete)
        awk -v name="$1" '/states, stored/ { states = $1 } /elapsed time/ { time = $4 }
            END { printf "%s: %d states, %s seconds\n", name, states, time }' output
        ;;
    error)
        # shellcheck disable=SC2086
        [ "$1" = safety ] && bounds=$safety || bounds=$liveness
        # shellcheck disable=SC2086
        spin $bounds -t -p -g model.pml >&2 || true
        grep '^pan:[0-9]*:' output >&2
        echo "The model has an error ($1). The steps above lead to it." >&2
        exit 1
        ;;
    incomplete)
        cat output >&2
        echo "SPIN did not search all states ($1)." >&2
        exit 1
        ;;
    esac
}

# mutant KIND NAME OLD NEW: replaces a part of the model and checks that the search finds an error.
mutant() {
    local rest=${model#*"$3"}
    if [ "$rest" = "$model" ] || [ "${rest#*"$3"}" != "$rest" ]; then
        echo "The model must contain the following once, for the mutant \"$2\": $3" >&2
        exit 1
    fi
    printf '%s\n' "${model%%"$3"*}$4$rest" >model.pml
    search "$1"
    if [ "$result" != error ]; then
        echo "SPIN does not find the mutant \"$2\" ($result)." >&2
        failed=true
    else
        echo "found: $2 ($(sed -n 's/^pan:[0-9]*: *//p' output | head -1 | cut -c1-70))"
    fi
}

printf '%s\n' "$model" >model.pml
check safety
check liveness
$with_mutants || exit 0

failed=false
mutant safety "a transaction does not take the row lock" \
    "(transaction[0].state == ended && transaction[1].state == ended)" "(transaction[n].state == ended)"
mutant safety "a transaction leaves no note" \
    "commitNote[lastCommit].id = n + 1;" ""
mutant safety "a transaction runs before earlier commits are delivered" \
    "    last = endOfPage(node[n].known, transaction[n].number - 1);
    receivePage(n);" "    last = transaction[n].number - 1;"
mutant safety "a retry does not look up the message ID" \
    "has(node[n].batch, m) && seq[m] == 0" "has(node[n].batch, m)"
mutant safety "a send is acknowledged before its commit is confirmed" \
    "    node[n].phase = commits" "    answer(n); node[n].phase = commits"
mutant safety "only the number decides whether an unconfirmed commit succeeded" \
    " && commitNote[transaction[n].number].id == (n) + 1)" ")"
mutant safety "notes are delivered in the order of their arrival" \
    "        takeNext(n)
    :: else
    fi
}

/*
 * CommitOrder.receive(_ page" "        node[n].last = number; deliver(n, number)
    :: else
    fi
}

/*
 * CommitOrder.receive(_ page"
mutant safety "an own commit is announced although its note was delivered" \
    "transaction[n].number > node[n].last ->" "true ->"
mutant safety "events that arrive before the device is resumed are dropped" \
    ":: else -> device[d].held = device[d].held | bit(m)" ":: else"
mutant liveness "gaps are not read from the store" \
    "node[self].page == 0 && node[self].last < lastCommit ->" "false ->"
mutant liveness "the cursor of a device is newer than its messages" \
    "device[d].changed = device[d].changed | bit(conversation(m));" ""
if $failed; then exit 1; fi
