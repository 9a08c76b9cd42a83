"""Loading of a service's settings from a JSON file."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, TypeVar

Settings = TypeVar("Settings")


def load(kind: type[Settings], path: str | None) -> Settings:
    """Returns settings of the given dataclass. The names in the file are its fields in camelCase."""
    values = json.loads(Path(path).read_text()) if path else {}
    if not isinstance(values, dict):
        raise ValueError("the configuration is not a JSON object")
    return kind(**{name: _value(kind, name, key, value) for key, value in values.items() if (name := _snake(key))})


def _value(kind: type[Any], name: str, key: str, value: Any) -> Any:
    defaults = {field.name: field for field in dataclasses.fields(kind)}
    if name not in defaults:
        raise ValueError(f"unknown setting {key}; known: {', '.join(sorted(map(_camel, defaults)))}")
    default = defaults[name].default
    if default is dataclasses.MISSING:
        default = defaults[name].default_factory()
    wanted = (int, float) if isinstance(default, (int, float)) and not isinstance(default, bool) else type(default)
    if not isinstance(value, wanted):
        raise ValueError(f"setting {key} has the wrong type")
    return value


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: "_" + letter.group().lower(), name)


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter.group(1).upper(), name)
