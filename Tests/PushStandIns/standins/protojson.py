"""JSON parsing as in protocol buffers services: typed members and no unknown ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DURATION = re.compile(r"-?\d+(\.\d{1,9})?s")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_INTEGER = re.compile(r"-?\d+")


class JSONFault(Exception):
    """A value that the parser refuses."""

    def __init__(self, rule: str, path: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule
        self.path = path


def _invalid(path: str, kind: str, value: Any) -> JSONFault:
    return JSONFault("field-type", path, f"Invalid value at '{path}' ({kind}), {value!r}")


class Kind:
    """The type of a member."""

    def read(self, value: Any, path: str) -> Any:
        """Returns the parsed value, or raises JSONFault."""
        raise NotImplementedError


class Text(Kind):
    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise _invalid(path, "TYPE_STRING", value)
        return value


class Boolean(Kind):
    def read(self, value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise _invalid(path, "TYPE_BOOL", value)
        return value


class Integer(Kind):
    """An int32. The JSON mapping also allows a string."""

    def read(self, value: Any, path: str) -> int:
        if isinstance(value, str) and _INTEGER.fullmatch(value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
            raise _invalid(path, "TYPE_INT32", value)
        return value


class Number(Kind):
    def read(self, value: Any, path: str) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise _invalid(path, "TYPE_FLOAT", value)
        return float(value)


class Duration(Kind):
    """Seconds with up to nine decimals and an s."""

    def read(self, value: Any, path: str) -> float:
        if not isinstance(value, str):
            raise _invalid(path, "type.googleapis.com/google.protobuf.Duration", value)
        if not _DURATION.fullmatch(value):
            text = f"Invalid value at '{path}', Illegal duration format; duration must end with 's'"
            raise JSONFault("duration-form", path, text)
        return float(value[:-1])


class Timestamp(Kind):
    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise _invalid(path, "type.googleapis.com/google.protobuf.Timestamp", value)
        if not _TIMESTAMP.fullmatch(value):
            raise JSONFault("timestamp-form", path, f"Invalid value at '{path}', Illegal timestamp format")
        return value


class Struct(Kind):
    """Any JSON object."""

    def read(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _invalid(path, "type.googleapis.com/google.protobuf.Struct", value)
        return value


@dataclass
class Enumeration(Kind):
    """One of these names. Numbers are allowed too."""

    name: str
    names: tuple[str, ...]

    def read(self, value: Any, path: str) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if not isinstance(value, str):
            raise _invalid(path, f"type.googleapis.com/{self.name}", value)
        if value not in self.names:
            raise JSONFault(
                "enum-value", path, f"Invalid value at '{path}' (type.googleapis.com/{self.name}), {value!r}"
            )
        return value


@dataclass
class Texts(Kind):
    """A map from strings to strings."""

    rule: str

    def read(self, value: Any, path: str) -> dict[str, str]:
        if not isinstance(value, dict):
            raise _invalid(path, "map", value)
        for number, item in enumerate(value.values()):
            if not isinstance(item, str):
                where = f"{path}[{number}].value"
                raise JSONFault(self.rule, where, f"Invalid value at '{where}' (TYPE_STRING), {item!r}")
        return value


@dataclass
class Repeated(Kind):
    item: Kind

    def read(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise _invalid(path, "repeated", value)
        return [self.item.read(item, f"{path}[{number}]") for number, item in enumerate(value)]


@dataclass
class Message(Kind):
    """An object with known members, in snake_case or lowerCamelCase."""

    fields: Mapping[str, Kind]

    def __post_init__(self) -> None:
        self._names = {name: name for name in self.fields} | {_camel(name): name for name in self.fields}

    def read(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _invalid(path, "message", value)
        members: dict[str, Any] = {}
        for key, item in value.items():
            name = self._names.get(key)
            if name is None:
                at = f" at '{path}'" if path else ""
                text = f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.'
                raise JSONFault("unknown-field", path, text)
            if name in members:
                raise JSONFault("json-form", path, f"Invalid value at '{path}', {name} is given twice")
            if item is not None:
                members[name] = self.fields[name].read(item, f"{path}.{name}" if path else name)
        return members


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
