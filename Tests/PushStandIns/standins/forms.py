"""Parsing of form-urlencoded bodies."""

from __future__ import annotations

from urllib.parse import parse_qsl

from .message import Request


def fields(request: Request) -> dict[str, str] | None:
    """Returns the fields of a form, or None if the body is not a form or not UTF-8."""
    if request.media_type() != "application/x-www-form-urlencoded":
        return None
    try:
        return dict(parse_qsl(request.body.decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        return None
