#!/usr/bin/env bash
# Joins the requirements in Documentation/contract-rows.md with the tests that covered them in this run, and writes a
# table. A requirement is covered by a test that passed in all of its cases, or by a section of a guide. Uncovered
# requirements must be listed in Tests/rows-open.txt. If the list and the run differ, the script fails in CI, and prints
# the differences elsewhere.
# Usage: scripts/row-table.sh [DIRECTORY]     (the output of the tests, default: .build/rows)
set -euo pipefail
cd "$(dirname "$0")/.."
records=${1:-.build/rows}
table=.build/row-table.md
shopt -s nullglob
files=("$records"/*.tsv)
if [ ${#files[@]} -eq 0 ]; then
    echo "no test output in $records: run the tests with SCROLLBACK_ROWS=\$PWD/$records" >&2
    exit 1
fi

# Check that the sections of guides exist.
missing=0
while IFS='#' read -r file section; do
    if ! sed -nE 's/^#+ +//p' "Documentation/$file" 2>/dev/null | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' |
        grep -qx -- "$section"; then
        echo "Documentation/contract-rows.md refers to a section that does not exist: $file#$section" >&2
        missing=1
    fi
done < <(sed -nE 's/^\| [0-9]+ \|.*\]\(([^)]+)\) \|$/\1/p' Documentation/contract-rows.md)

status=0
awk -F'\t' -v table="$table" '
    function fail(text) { print text > "/dev/stderr"; failed = 1 }
    FILENAME == "Documentation/contract-rows.md" {
        if ($0 !~ /^\| [0-9]+ \|/) next
        split($0, cell, / *\| */)
        row = cell[2] + 0; order[++count] = row; about[row] = cell[3]; guide[row] = cell[4]
        next
    }
    FILENAME == "Tests/rows-open.txt" {
        if ($0 ~ /^ *(#|$)/) next
        split($0, word, /[ \t]+/); open[word[1] + 0] = 1
        next
    }
    {
        test = $3 "\t" $4
        if ($2 != "passed") broken[test] = 1
        n = split($1, list, ",")
        for (i = 1; i <= n; i++) {
            row = list[i] + 0
            if (!(row in about)) {
                if (!(row in unknown)) fail("row " row " of a test is not in Documentation/contract-rows.md: " $4)
                unknown[row] = 1
            } else if (!((row, test) in seen)) {
                seen[row, test] = 1
                tests[row] = tests[row] (tests[row] == "" ? "" : "\n") test
            }
        }
    }
    END {
        print "| row | about | covered by |\n|---|---|---|" > table
        for (i = 1; i <= count; i++) {
            row = order[i]; text = guide[row]; passed = 0
            n = tests[row] == "" ? 0 : split(tests[row], list, "\n")
            for (j = 1; j <= n; j++) {
                split(list[j], part, "\t")
                if (list[j] in broken) continue
                passed++
                gsub(/\|/, "\\|", part[2])
                text = text (text == "" ? "" : "<br>") part[2] " (`" part[1] "`)"
            }
            shown = passed > 0 || guide[row] != ""
            if (shown && row in open) fail("row " row " (" about[row] ") is covered: remove it in Tests/rows-open.txt")
            if (!shown && !(row in open)) fail("row " row " (" about[row] ") is covered by no test that passed")
            if (shown) done++
            print "| " row " | " about[row] " | " (text == "" ? "–" : text) " |" > table
        }
        for (row in open) {
            if (!(row in about)) fail("row " row " of Tests/rows-open.txt is not in Documentation/contract-rows.md")
        }
        printf "contract rows: %d of %d covered, %d open (%s)\n", done, count, count - done, table
        exit failed
    }' Documentation/contract-rows.md Tests/rows-open.txt "${files[@]}" || status=$?
[ "$missing" -eq 0 ] || status=1
[ -n "${CI:-}" ] || [ "$status" -eq 0 ] || { echo "This is an error in CI." >&2; status=0; }
exit "$status"
