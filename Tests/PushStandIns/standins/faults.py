"""Faults that a test injects, and their assignment to requests."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

KINDS = ("status", "hang", "hangAfter", "reset", "resetAfter", "goaway", "streamReset")
STREAM_CODES = ("REFUSED_STREAM", "INTERNAL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM")
_TYPES = {
    "kind": str,
    "count": int,
    "on": str,
    "status": int,
    "reason": str,
    "retryAfter": (int, str),
    "seconds": (int, float),
    "code": str,
}


@dataclass
class Fault:
    """A kind of fault and its count."""

    kind: str
    count: int = 1
    on: str = "send"
    """The kind of request that gets the fault: send, token, revoke, or any."""
    status: int = 503
    reason: str | None = None
    retry_after: int | str | None = None
    seconds: float = 30
    code: str = "REFUSED_STREAM"

    @classmethod
    def read(cls, value: Any) -> Fault:
        """Reads a fault from a control request, or raises ValueError with the problem."""
        if not isinstance(value, dict) or value.get("kind") not in KINDS:
            raise ValueError(f"a fault is an object whose kind is one of {', '.join(KINDS)}")
        if unknown := set(value) - set(_TYPES):
            raise ValueError(f"unknown members of a fault: {', '.join(sorted(unknown))}")
        if value.get("code", "CANCEL") not in STREAM_CODES:
            raise ValueError(f"code is one of {', '.join(STREAM_CODES)}")
        for name, kind in _TYPES.items():
            if name in value and (not isinstance(value[name], kind) or isinstance(value[name], bool)):
                raise ValueError(f"{name} of a fault has the wrong type")
        named = {("retry_after" if key == "retryAfter" else key): item for key, item in value.items()}
        return cls(**named)

    def applies(self, request_kind: str) -> bool:
        return self.on in (request_kind, "any")


class Faults:
    """The active faults."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._next: list[Fault] = []
        self._random: list[Fault] = []
        self._share = 0.0
        self._generator = random.Random(0)

    def order(self, faults: list[Fault], mode: str = "next", share: float = 1.0, seed: int = 0) -> None:
        """Replaces the active faults."""
        if mode not in ("next", "random"):
            raise ValueError("mode is next or random")
        self.clear()
        if mode == "next":
            self._next = list(faults)
        else:
            self._random, self._share, self._generator = list(faults), share, random.Random(seed)

    def pick(self, request_kind: str) -> Fault | None:
        """Returns the fault for the next request, if any."""
        if self._next:
            return self._pick_next(request_kind)
        if self._random:
            return self._pick_random(request_kind)
        return None

    def _pick_next(self, request_kind: str) -> Fault | None:
        for fault in self._next:
            if fault.applies(request_kind):
                fault.count -= 1
                if fault.count <= 0:
                    self._next.remove(fault)
                return fault
        return None

    def _pick_random(self, request_kind: str) -> Fault | None:
        applying = [fault for fault in self._random if fault.applies(request_kind)]
        if not applying or self._generator.random() >= self._share:
            return None
        return self._generator.choices(applying, [fault.count for fault in applying])[0]
