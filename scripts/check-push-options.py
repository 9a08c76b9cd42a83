#!/usr/bin/env python3
"""Compares Documentation/push-options.md with the code.

- The table "Options" has the members of PushOptions, in their order, with their types, choices, limits and error
  parameters.
- The table "Fields of the push services" has a row for each option and a column for each PushService. A cell has a
  field if and only if the payload of that service reads the option. Its path consists of names that the payload writes.
- The example has every option, in Swift and in JSON.

Exit status: 0 when the page and the code agree, 1 otherwise.
"""

import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "Documentation/push-options.md"
OPTIONS = "Sources/ScrollbackModel/Push/PushOptions.swift"
MESSAGE = "Sources/ScrollbackWire/Push/PushMessage+JSON.swift"
SERVICES = "Sources/ScrollbackPush/Services"
# The file that writes the requests of each service.
PAYLOADS = {
    "apns": "APNS+Payload.swift", "fcm": "FCM+Payload.swift", "huawei": "Huawei+Payload.swift",
    "honor": "Honor+Payload.swift", "xiaomi": "Xiaomi+Payload.swift", "oppo": "OPPO+Payload.swift",
    "vivo": "Vivo+Payload.swift", "harmony": "Harmony+Payload.swift", "web": "WebPush+Payload.swift",
    "webhook": "WebhookPush.swift",
}  # fmt: skip
# How a payload reads an option, if not from the property itself.
READS = {
    "title": r"\btext\.title\b|\btitle\(or:",
    "text": r"\btext\.body\b",
    "data": r"\bPushFields\.",
    "android.notificationID": r"\bnumericID\b|\bandroid\?\.notificationID\b",
    "android.vivo.type": r"\bpurpose\.type\b",
    "android.vivo.category": r"\bpurpose\.category\b",
}
NONE = "–"
SPAN = re.compile(r"`([^`]+)`")
failures = []


def fail(text):
    failures.append(f"{PAGE}: {text}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def code_of(path):
    """The text of a Swift file without comments."""
    return "\n".join(re.sub(r"(^|\s)//.*", "", line) for line in read(path).splitlines())


class Option:
    def __init__(self, path, type, is_required, choices):
        self.path, self.type, self.is_required, self.choices = path, type, is_required, choices


def declared_options():
    """The options of PushOptions in their order. An option that is an object is replaced by its members."""
    properties, choices, stack, depth = {}, {}, [], 0
    for line in code_of(OPTIONS).splitlines():
        opened = re.match(r"\s*(?:public|package|private)?\s*(struct|enum|extension|func|init)\b\s*(\w*)", line)
        if opened and opened.group(1) in ("struct", "enum") and "{" in line:
            stack.append((opened.group(2), depth))
            properties.setdefault(".".join(name for name, _ in stack), [])
        name = ".".join(part for part, _ in stack)
        if stack and depth == stack[-1][1] + 1:
            if found := re.match(r"\s*public var (\w+): ([\w.]+)(\??)\s*$", line):
                properties[name].append(found.groups())
            if re.match(r"\s*case ", line) and "CodingKeys" not in name:
                for case in re.findall(r'(\w+)(?: = "([^"]*)")?(?:,|$)', line.strip().removeprefix("case ")):
                    choices.setdefault(name, []).append(case[1] or case[0])
        depth += line.count("{") - line.count("}")
        while stack and depth <= stack[-1][1]:
            stack.pop()

    def resolved(type, scope):
        """The full name of a type that a property of `scope` has, or `type` if it is not declared in the file."""
        parts = scope.split(".")
        for count in range(len(parts), 0, -1):
            name = ".".join(parts[:count] + [type])
            if name in properties:
                return name
        return type

    def flat(scope, path):
        for name, type, optional in properties[scope]:
            full = resolved(type, scope)
            place = f"{path}.{name}" if path else name
            if properties.get(full):
                yield from flat(full, place)
            else:
                yield Option(place, full, not optional, choices.get(full, []))

    return list(flat("PushOptions", ""))


def section(title, level=2):
    found = re.search(rf"^{'#' * level} {re.escape(title)}\n(.*?)(?=^#{{1,{level}}} |\Z)", read(PAGE), re.M | re.S)
    if not found:
        sys.exit(f"{PAGE}: the section {title} is missing")
    return found.group(1)


def table(title):
    """The first table of a section: its header and its rows."""
    lines = re.search(r"(^\|.*\n)+", re.split(r"^### ", section(title), flags=re.M)[0], re.M).group(0).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for row in rows[2:]:
        if len(row) != len(rows[0]):
            fail(f"the row {row[0]} of the table {title} has {len(row)} cells and not {len(rows[0])}")
    return rows[0], [row for row in rows[2:] if len(row) == len(rows[0])]


def check_names(title, rows, options):
    names = [row[0].strip("`") for row in rows]
    if names == [option.path for option in options]:
        return
    known = {option.path for option in options}
    for name in names:
        if name not in known:
            fail(f"the table {title} has {name}, which PushOptions doesn't have")
    for option in options:
        if names.count(option.path) != 1:
            fail(f"the table {title} has {names.count(option.path)} rows for {option.path}")
    if sorted(names) == sorted(known):
        fail(f"the table {title} has another order than PushOptions")


def check_options(options):
    _, rows = table("Options")
    check_names("Options", rows, options)
    source = code_of(OPTIONS)
    limits = {name: int(value) for name, value in re.findall(r"let (longest\w+) = (\d+)", source)}
    longest_url = int(re.search(r"let longestURL = (\d+)", read("Sources/ScrollbackModel/Media/Media.swift")).group(1))
    texts = {
        "data": f"at most {limits.pop('longestData'):,} bytes",
        "ios.collapseID": f"1 to {limits.pop('longestCollapseID'):,} bytes",
    }
    for name in limits:
        fail(f"this script doesn't know the limit {name} of {OPTIONS}")
    by_name = {option.path: option for option in options}
    for name, type, values, default, error, _ in rows:
        option = by_name.get(name.strip("`"))
        if option is None:
            continue
        if type != f"`{option.type}`":
            fail(f"{option.path} has the type {option.type} and not {type}")
        if option.choices and sorted(SPAN.findall(values)) != sorted(option.choices):
            fail(f"{option.path} must list exactly {', '.join(option.choices)}")
        if option.is_required != default.startswith("required in "):
            fail(f"{option.path} is {'required' if option.is_required else 'not required'} in the code")
        limit = f"at most {longest_url:,} bytes" if option.type == "URL" else texts.get(option.path)
        if limit and limit not in values:
            fail(f"{option.path} lacks its limit, {limit}")
        own = f"push.{option.path}"
        expected = own if f'"{own}"' in source else "push"
        if error != f"`{expected}`":
            fail(f"the error about {option.path} has the parameter {expected} and not {error}")


def reads(code, option, service):
    if service == "webhook" and "options.json()" in code:
        return True
    if option in READS:
        return re.search(READS[option], code) is not None
    owner, _, name = option.rpartition(".")
    pattern = rf"\b{owner.rpartition('.')[2]}\?\.{name}\b" if owner else rf"\boptions\.{name}\b"
    return re.search(pattern, code) is not None


def check_services(options):
    header, rows = table("Fields of the push services")
    check_names("Fields of the push services", rows, options)
    enum = re.search(r"enum PushService\b.*?\n}", code_of("Sources/ScrollbackModel/Push/PushDevice.swift"), re.S)
    services = re.findall(r"^ +case (\w+)", enum.group(0), re.M)
    if header[1:] != services:
        fail(f"the columns must be {', '.join(services)}")
        return
    cells, paths = 0, {option.path for option in options}
    for service, column in zip(services, range(1, len(header))):
        code = code_of(f"{SERVICES}/{PAYLOADS[service]}")
        written = set(re.findall(r'"((?:[^"\\\n]|\\.)*)"', code))
        if "PushFields." in code:
            written |= set(re.findall(r'let (?:key|dataKey) = "(\w+)"', read(MESSAGE)))
        for row in rows:
            option, cell = row[0].strip("`"), row[column]
            cells += 1
            if (cell != NONE) != reads(code, option, service):
                does = "reads" if cell == NONE else "doesn't read"
                fail(f"the payload of {service} {does} {option}, but the cell is: {cell}")
            for span in SPAN.findall(cell):
                # A form's field has its whole name, and the cell of an option can mention another one.
                if span in written or "." in span and span in paths:
                    continue
                if service == "webhook" and span == f"push.{option}":
                    continue
                for part in span.split("."):
                    if part not in written:
                        fail(f"the payload of {service} doesn't write {part} of {span} ({option})")
    return cells


def members(value, path=""):
    for name, inner in value.items():
        place = f"{path}.{name}" if path else name
        if isinstance(inner, dict):
            yield from members(inner, place)
        else:
            yield place


def check_example(options):
    paths = [option.path for option in options]
    http = section("HTTP", 3)
    try:
        example = json.loads(re.search(r"```json\n(.*?)```", http, re.S).group(1))
    except ValueError as error:
        fail(f"the example of HTTP is not JSON: {error}")
        return
    if list(members(example["push"])) != paths:
        fail("the example of HTTP must have every option once, in the order of PushOptions")
    swift = re.search(r"```swift\n(.*?)```", section("Swift", 3), re.S).group(1)
    names = [path.rpartition(".")[2] for path in paths]
    for name in sorted(set(names)):
        count = len(re.findall(rf"\.{name} = |[(,] ?{name}: ", swift))
        if count != names.count(name):
            fail(f"the example in Swift sets {name} {count} times and not {names.count(name)} times")


def main():
    options = declared_options()
    if len(options) < 20:
        sys.exit(f"{OPTIONS}: only {len(options)} options found")
    check_options(options)
    cells = check_services(options)
    check_example(options)
    for failure in failures:
        print(failure)
    if failures:
        return 1
    print(f"push options: {len(options)} options and {cells} cells agree with the code")
    return 0


sys.exit(main())
