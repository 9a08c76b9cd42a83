"""Strict JSON parsing: UTF-8, no NaN, and optionally no duplicate members."""

from __future__ import annotations

import json
from typing import Any


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice in one object")
    return members


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_UNIQUE_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)


def loads(body: bytes | str) -> Any:
    """Parses JSON, and raises ValueError if it is invalid."""
    return _DECODER.decode(body if isinstance(body, str) else body.decode())


def loads_unique(body: bytes) -> Any:
    """Parses JSON like loads, and refuses duplicate members."""
    return _UNIQUE_DECODER.decode(body.decode())


def dumps(value: Any) -> str:
    """Returns the compact form, without escapes for non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
