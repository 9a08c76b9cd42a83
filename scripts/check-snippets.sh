#!/usr/bin/env bash
# Checks that a file of Tests/SnippetTests contains every ```swift block of the documentation verbatim, except for
# indentation. The tests compile all examples and run most of them. The example of README.md is Examples/FirstChat. The
# file's imports must include the block's `import` lines. Prints the document and line of each difference.
# Usage: scripts/check-snippets.sh [DOCUMENT …]     (default: all documents)
set -euo pipefail
cd "$(dirname "$0")/.."
documents=("$@")
if [ ${#documents[@]} -eq 0 ]; then
    while IFS= read -r file; do documents+=("$file"); done < <(
        ls README.md Documentation/*.md
        find Sources/Scrollback/Scrollback.docc -name '*.md' | sort
    )
fi
awk '
    function trimmed(line) { gsub(/^[ \t]+|[ \t\r]+$/, "", line); return line }
    # Returns whether a file contains these consecutive lines and these imports.
    function isThere(lines, imports, count,    file, i, all) {
        for (file in code) {
            if (index(code[file], lines) == 0) continue
            all = 1
            for (i = 1; i <= count; i++) if (index(code[file], "\n" imports[i] "\n") == 0) all = 0
            if (all) return 1
        }
        return 0
    }
    function check(    first, last, i, lines) {
        first = 1; last = size
        while (first <= last && block[first] == "") first++
        while (last >= first && block[last] == "") last--
        lines = "\n"
        examples++
        if (!isThere(lines, imports, importCount)) {
            printf "%s:%d: no compiled example has the imports of this example\n", FILENAME, begin; failed = 1
            return
        }
        for (i = first; i <= last; i++) {
            lines = lines block[i] "\n"
            if (isThere(lines, imports, importCount)) continue
            printf "%s:%d: no compiled example contains this line of the example at line %d: %s\n", \
                FILENAME, at[i], begin, block[i]
            failed = 1
            return
        }
    }
    FILENAME ~ /\.swift$/ {
        if (FNR == 1) code[FILENAME] = "\n"
        code[FILENAME] = code[FILENAME] trimmed($0) "\n"
        next
    }
    FNR == 1 && isOpen { printf "%s:%d: this example has no end\n", document, begin; failed = 1; isOpen = 0 }
    { document = FILENAME; line = trimmed($0) }
    !isOpen && line == "```swift" { isOpen = 1; begin = FNR; size = 0; importCount = 0; next }
    isOpen && line == "```" { check(); isOpen = 0; next }
    isOpen && line ~ /^(@testable )?import / { imports[++importCount] = line; next }
    isOpen { block[++size] = line; at[size] = FNR }
    END {
        if (isOpen) { printf "%s:%d: this example has no end\n", document, begin; failed = 1 }
        if (!failed) printf "snippets: all %d examples of the documentation are compiled\n", examples
        exit failed
    }' Tests/SnippetTests/*.swift Examples/FirstChat/main.swift "${documents[@]}"
