"""Rate limits."""

from __future__ import annotations


class Bucket:
    """A limit for each period. It is refilled completely when a period ends."""

    def __init__(self, capacity: int, seconds: float) -> None:
        self._capacity = capacity
        self._seconds = seconds
        self._started = 0.0
        self._used = 0

    def take(self, now: float, count: int = 1) -> bool:
        """Takes count units. Returns False if not enough are left."""
        if now - self._started >= self._seconds:
            self._started, self._used = now, 0
        if self._used + count > self._capacity:
            return False
        self._used += count
        return True


class Burst:
    """A burst, and then one more unit for each interval."""

    def __init__(self, burst: int, interval: float) -> None:
        self._burst = burst
        self._interval = interval
        self._level = float(burst)
        self._at = 0.0

    def take(self, now: float) -> bool:
        """Takes one unit. Returns False if none is left."""
        self._level = min(self._burst, self._level + (now - self._at) / self._interval)
        self._at = now
        if self._level < 1:
            return False
        self._level -= 1
        return True
