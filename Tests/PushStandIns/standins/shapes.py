"""Comparison of JSON values with documented types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], bool] | Mapping[str, "Shape"] | list["Shape"]
"""A predicate for a value, the shapes of an object's known members, or the shape of an array's items."""


def text(value: Any) -> bool:
    return isinstance(value, str)


def integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def boolean(value: Any) -> bool:
    return isinstance(value, bool)


def anything(value: Any) -> bool:
    return True


def json_object(value: Any) -> bool:
    return isinstance(value, dict)


def misfit(value: Any, shape: Shape, path: str = "") -> str | None:
    """Returns the path of the first value with another type than documented. Unknown members are ignored."""
    if callable(shape):
        return None if shape(value) else path
    if isinstance(shape, list):
        if not isinstance(value, list):
            return path
        found = (misfit(item, shape[0], f"{path}[{number}]") for number, item in enumerate(value))
        return next(filter(None, found), None)
    if not isinstance(value, dict):
        return path or "the body"
    found = (misfit(value[name], inner, f"{path}.{name}".lstrip(".")) for name, inner in shape.items() if name in value)
    return next(filter(None, found), None)


def is_https(value: str) -> bool:
    return value.startswith("https://") and len(value) > len("https://")


def is_within(value: Any, low: int, high: int) -> bool:
    """Returns whether the value is an integer in the range."""
    return integer(value) and low <= value <= high


def bytes_without(body: bytes, tokens: list[str]) -> int:
    """Returns the length of a JSON body without the device tokens, their quotes and the commas between them."""
    return len(body) - sum(len(token.encode()) + 2 for token in tokens) - max(0, len(tokens) - 1)
