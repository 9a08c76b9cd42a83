#!/usr/bin/env python3
"""Writes and checks the tables that map the names of another vendor's API to Scrollback's.

Each vendor has three files and a guide in Documentation:

- `vendors/NAME.tsv`: one line per name, with the columns of COLUMNS
- `vendors/identifiers/NAME.txt`: the names of the vendor's public documents, one a line, as NAME, TYPE.NAME or the
  number of an error
- `vendors/NAME.md`: the page, generated from the first file
- `coming-from-NAME.md`: the guide, with tables of its own

Usage: scripts/vendor-tables.py [--write | --check | --self-test]     (default: --check)

  --write      write the pages
  --check      check the data, the lists of names, the pages and the guides
  --self-test  check that each rule can fail

The check fails in these cases:

1. A page is not the generated one.
2. A line of a data file has a wrong form, an unknown kind, no counterpart, or "none" without a reason.
3. A name and its type appear twice in a data file or in a list.
4. A name of the list has no line in the data file, or the other way round.
5. A vendor's name in a guide has no line in the data. Such a name is in code style, a word such as `targetId`, or the
   number of an error.
6. A declaration, label, error code, setting, HTTP operation, WebSocket request or option of Scrollback that the data or
   a guide mentions does not exist, or is not public.
7. A guide or guides.md does not link to the page.

Exit status: 0 when nothing is wrong, 1 otherwise.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from public_names import PublicNames  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "Documentation/vendors"
VENDORS = {"rongcloud": "RongCloud", "sendbird": "Sendbird", "nim": "NIM", "pubnub": "PubNub"}
COLUMNS = ["name", "type", "kind", "scrollback", "note"]
KINDS = {
    "type": "Types",
    "method": "Methods",
    "callback": "Callbacks",
    "parameter": "Parameters",
    "property": "Properties",
    "case": "Enumeration cases and constants",
    "setting": "Settings of the service",
    "error": "Errors",
}
# Words in vendors' columns that look like names of an API, and are none.
PROSE = re.compile(r"\b(?:SDKs|NetEase|PubNub|RongCloud|HarmonyOS|iOS|MiB|KiB|IDs|UIDs|APNs)\b")
# Names of an API: `targetId`, `RCMessage`, `NIMSession`, `BaseMessage`, `RC:TxtMsg`, `didUpdate…`.
API_WORD = re.compile(r"(?<![\w`./#-])(?:[a-z]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|[A-Z][a-z]+[A-Z]\w*|RC:\w+)")
NUMBER = re.compile(r"(?<![\w,.-])\d{3,6}(?![\w,.-]\w)")
RANGE = re.compile(r"(?<![\w.])(\d{3,6})…(\d{3,6})")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
NAME = re.compile(r"[A-Za-z_][\w:]*|\d+")


class Row:
    def __init__(self, cells):
        cells = cells + [""] * (len(COLUMNS) - len(cells))
        self.name, self.type, self.kind, self.scrollback, self.note = cells

    @property
    def key(self):
        # The type of an error code is the name of its constant.
        if self.name.isdigit():
            return self.name
        return f"{self.type}.{self.name}" if self.type else self.name

    @property
    def is_none(self):
        return self.scrollback == "none" or self.scrollback.startswith("none ")


def base(name):
    """The name without its arguments: `messagesInSession` of `messagesInSession:message:limit:`."""
    return re.split(r"[(:\[ ]", name)[0] if not name.startswith("RC:") else name


class Tables:
    def __init__(self, root=ROOT, vendors=VENDORS, names=None):
        self.root, self.vendors = root, vendors
        self.names = names or PublicNames(root)
        self.problems = []

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def problem(self, path, number, text):
        self.problems.append(f"{path}:{number}: {text}")

    # Data

    def rows(self, vendor):
        path = f"{FOLDER}/{vendor}.tsv"
        lines = self.read(path).rstrip("\n").split("\n")
        if lines[0].split("\t") != COLUMNS:
            self.problem(path, 1, f"the first line must be {', '.join(COLUMNS)}, separated by tabs")
        rows, seen = [], {}
        for number, line in enumerate(lines[1:], 2):
            cells = line.split("\t")
            if not 4 <= len(cells) <= len(COLUMNS) or any(cell != cell.strip() for cell in cells):
                self.problem(path, number, f"a line has {len(COLUMNS)} cells between single tabs")
                continue
            row = Row(cells)
            rows.append((number, row))
            if row.kind not in KINDS:
                self.problem(path, number, f"unknown kind {row.kind}: use one of {', '.join(KINDS)}")
            if not row.scrollback:
                self.problem(path, number, f"{row.key} has no counterpart: write none, and the reason in the note")
            if row.is_none and not row.note:
                self.problem(path, number, f"{row.key} is none without a reason or an alternative in the note")
            if row.key in seen:
                self.problem(path, number, f"{row.key} is also in line {seen[row.key]}")
            seen[row.key] = number
            if row.kind == "error" and not row.is_none:
                spans = SPAN.findall(row.scrollback)
                if not any(span in self.names.error_codes for span in spans):
                    self.problem(path, number, f"{row.key} names no error code of Scrollback and is not none")
        own = {row.name for _, row in rows} | {row.type for _, row in rows}
        for number, row in rows:
            self.check_spans(path, number, row.scrollback, set())
            self.check_spans(path, number, row.note, own)
        return rows

    def check_spans(self, path, number, text, vendor_names):
        for span in SPAN.findall(text):
            if self.is_vendor_name(span, vendor_names):
                continue
            for wrong in self.names.problems_of(span):
                self.problem(path, number, f"`{span}`: {wrong}")

    @staticmethod
    def is_vendor_name(span, vendor_names):
        words = NAME.findall(span.replace(".", " "))
        return bool(words) and all(base(word) in vendor_names for word in words if not word.isdigit())

    def check_list(self, vendor, rows):
        path = f"{FOLDER}/identifiers/{vendor}.txt"
        lines = self.read(path).rstrip("\n").split("\n")
        if not lines[0].startswith("# "):
            self.problem(path, 1, "the first line names the documents that the names are from")
        keys, seen = {row.key for _, row in rows}, {}
        for number, name in enumerate(lines[1:], 2):
            if name in seen:
                self.problem(path, number, f"{name} is also in line {seen[name]}")
            seen[name] = number
            if name not in keys:
                self.problem(path, number, f"{name} has no line in {FOLDER}/{vendor}.tsv")
        for number, row in rows:
            if row.key not in seen:
                self.problem(f"{FOLDER}/{vendor}.tsv", number, f"{row.key} is not in {path}")
        if list(seen) != sorted(seen, key=sort_key):
            self.problem(path, 2, "the names are not sorted")
        return len(seen)

    # Guides

    def check_guide(self, vendor, rows):
        path = f"Documentation/coming-from-{vendor}.md"
        known = {row.name for _, row in rows} | {base(row.name) for _, row in rows}
        types = {row.type for _, row in rows}
        text = self.read(path)
        if f"(vendors/{vendor}.md)" not in text:
            self.problem(path, 1, f"the guide does not link to vendors/{vendor}.md")
        fenced, header, is_head = False, None, True
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                continue
            if fenced:
                comment = re.search(r"(?<!:)//\s+(.*)|^#\s+(.*)", line)
                if comment:
                    self.check_words(path, number, comment.group(1) or comment.group(2), known | types, True)
                continue
            if not line.lstrip().startswith("|"):
                header = None
                self.check_words(path, number, line, known | types, True)
                self.check_spans(path, number, line, known | types)
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            if header is None:
                header = cells
                continue
            if set("".join(cells)) <= set("-: "):
                continue
            self.check_vendor_cell(path, number, cells[0], known | types)
            for cell in cells[1:]:
                self.check_words(path, number, cell, known | types, True)
                self.check_spans(path, number, cell, known | types)

    def check_vendor_cell(self, path, number, cell, known):
        for span in SPAN.findall(cell):
            # Without arguments, and without the variable of `query.hasNext`.
            inner = re.sub(r"^[a-z]\w*\.(?=\w)", "", re.sub(r"\([^)]*\)", "", span))
            for word in re.split(r"[ ,=.]+", inner):
                if re.fullmatch(r"[A-Za-z_]\w+(?::\w*)*:?|RC:\w+", word) and base(word) not in known:
                    self.problem(path, number, f"`{word}` has no line in the table of names")
        self.check_words(path, number, cell, known, False)
        for first, last in RANGE.findall(cell):
            for code in range(int(first), int(last) + 1):
                if str(code) not in known:
                    self.problem(path, number, f"the code {code} has no line in the table of names")
        for code in NUMBER.findall(SPAN.sub("", RANGE.sub("", cell))):
            if len(code) >= 5 and code not in known:
                self.problem(path, number, f"the code {code} has no line in the table of names")

    def check_words(self, path, number, text, known, may_be_ours):
        text = re.sub(r"\]\([^)]*\)", "]", text)
        for word in API_WORD.findall(PROSE.sub("", SPAN.sub("", text))):
            if word in known or may_be_ours and word in self.names.words:
                continue
            # Prose and comments abbreviate: `didUpdate`, and `messageIds` of `messagesInSession:messageIds:`.
            if may_be_ours and any(re.search(rf"(?:^|:){word}(?=[A-Z:(]|$)", name) for name in known):
                continue
            self.problem(path, number, f"{word} is neither in the table of names nor a public name of Scrollback")

    # Pages

    def page(self, vendor, rows):
        title = self.vendors[vendor]
        lines = [
            f"# {title} API names",
            "",
            *wrap(
                f"This page lists the names in {title}'s public documents, and what Scrollback has instead. The "
                f"[guide](../coming-from-{vendor}.md) explains the differences. `scripts/vendor-tables.py --write` "
                f"generates this page from `{vendor}.tsv`."
            ),
            "",
            *wrap(
                "`client` is a `ChatClient`, `chat` a `Conversation`, `sending` the `SendHandle` that `chat.send` "
                "returns, `message` a `Message`, `configuration` a `ChatClient.Configuration` and `options` a "
                "`PushOptions`. In a path, `…` is `/v1/conversations/{conversation}`. A dash means that Scrollback "
                "has no counterpart."
            ),
            "",
        ]
        for kind, heading in KINDS.items():
            chosen = [row for _, row in rows if row.kind == kind]
            chosen.sort(key=lambda row: sort_key(f"{row.name}.{row.type}"))
            if not chosen:
                continue
            has_type = any(row.type for row in chosen)
            lines += [f"## {heading}", ""]
            about = "constant" if kind == "error" else "of"
            lines += [f"| {title} | {about} | Scrollback |", "|---|---|---|"] if has_type else [
                f"| {title} | Scrollback |",
                "|---|---|",
            ]
            for row in chosen:
                cells = [f"`{row.name}`"] + ([f"`{row.type}`" if row.type else ""] if has_type else [])
                lines.append("| " + " | ".join(cells + [answer(row).replace("|", "\\|")]) + " |")
            lines.append("")
        return "\n".join(lines)

    def run(self, writes=False):
        counts = []
        guides = self.read("Documentation/guides.md")
        for vendor in self.vendors:
            if not os.path.exists(os.path.join(self.root, f"{FOLDER}/{vendor}.tsv")):
                self.problem(f"{FOLDER}/{vendor}.tsv", 1, "the file does not exist")
                continue
            rows = self.rows(vendor)
            path = f"{FOLDER}/{vendor}.md"
            page = self.page(vendor, rows)
            if writes:
                with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
                    file.write(page)
            elif not os.path.exists(os.path.join(self.root, path)) or self.read(path) != page:
                self.problem(path, 1, "is not the generated page: run scripts/vendor-tables.py --write")
            counts.append(f"{self.check_list(vendor, rows)} of {self.vendors[vendor]}")
            self.check_guide(vendor, rows)
            if f"(vendors/{vendor}.md)" not in guides:
                self.problem("Documentation/guides.md", 1, f"the page does not link to vendors/{vendor}.md")
        return counts


def sort_key(name):
    return (name.isdigit(), int(re.match(r"\d+", name).group()) if name[:1].isdigit() else 0, name.lower(), name)


def wrap(text, width=120):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return lines + [line]


def answer(row):
    if row.is_none:
        return "– " + row.note
    return row.scrollback + (f". {row.note}" if row.note else "")


def self_test():
    from vendor_tables_test import run

    return run(Tables)


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(__doc__)
        return 0
    if unknown := [a for a in arguments if a not in ("--write", "--check", "--self-test")]:
        print(f"unknown argument {unknown[0]}: see --help", file=sys.stderr)
        return 64
    if "--self-test" in arguments:
        return self_test()
    tables = Tables()
    counts = tables.run(writes="--write" in arguments)
    for problem in tables.problems:
        print(problem)
    if tables.problems:
        print(f"vendor tables: {len(tables.problems)} problems")
        return 1
    print(f"vendor tables: each name has a line: {', '.join(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
