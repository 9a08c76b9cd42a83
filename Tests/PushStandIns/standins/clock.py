"""The stand-in's clock, which a test can advance."""

from __future__ import annotations

import time


class Clock:
    """Unix time plus an offset that a test sets."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        """Returns the seconds since 1970."""
        return time.time() + self._ahead

    def milliseconds(self) -> int:
        """Returns the milliseconds since 1970."""
        return int(self.now() * 1000)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def reset(self) -> None:
        self._ahead = 0.0
