"""Detection of retries that are too early or not allowed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass
class Earlier:
    """The response to an earlier equal request."""

    status: int
    at: float
    wait: float | None
    """The seconds to wait before a retry. None means that a retry is not allowed."""


class RetryWatch:
    """Stores responses by the content of the request."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Earlier] = {}

    @staticmethod
    def key(*parts: bytes) -> bytes:
        """Returns a key for requests with the same content."""
        digest = hashlib.sha256()
        for part in parts:
            digest.update(len(part).to_bytes(4) + part)
        return digest.digest()

    def is_empty(self) -> bool:
        return not self._answers

    def note(self, key: bytes, status: int, at: float, wait: float | None) -> None:
        self._answers[key] = Earlier(status, at, wait)

    def breach(self, key: bytes, now: float) -> Earlier | None:
        """Returns the earlier response if it does not allow a retry now."""
        earlier = self._answers.get(key)
        if earlier is None:
            return None
        if earlier.wait is not None and now >= earlier.at + earlier.wait:
            del self._answers[key]
            return None
        return earlier

    def reset(self) -> None:
        self._answers.clear()
