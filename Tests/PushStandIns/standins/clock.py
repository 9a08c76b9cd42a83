"""The stand-in's clock, which a test can put forward."""

from __future__ import annotations

import time


class Clock:
    """Unix time plus what a test has added to it."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self._ahead

    def milliseconds(self) -> int:
        """Milliseconds since 1970."""
        return int(self.now() * 1000)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def reset(self) -> None:
        self._ahead = 0.0
