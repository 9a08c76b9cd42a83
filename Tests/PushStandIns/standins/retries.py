"""Watching whether a sender repeats a request sooner than it may, or that it must not repeat."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass
class Earlier:
    """The answer that an equal request got before."""

    status: int
    at: float
    wait: float | None
    """Seconds to wait before repeating; None means never repeat."""


class RetryWatch:
    """Remembers answers by the content of the request."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Earlier] = {}

    @staticmethod
    def key(*parts: bytes) -> bytes:
        """A key for requests that say the same."""
        digest = hashlib.sha256()
        for part in parts:
            digest.update(len(part).to_bytes(4) + part)
        return digest.digest()

    def is_empty(self) -> bool:
        return not self._answers

    def note(self, key: bytes, status: int, at: float, wait: float | None) -> None:
        self._answers[key] = Earlier(status, at, wait)

    def breach(self, key: bytes, now: float) -> Earlier | None:
        """The earlier answer, if repeating the request now goes against it."""
        earlier = self._answers.get(key)
        if earlier is None:
            return None
        if earlier.wait is not None and now >= earlier.at + earlier.wait:
            del self._answers[key]
            return None
        return earlier

    def reset(self) -> None:
        self._answers.clear()
