"""The record of the requests to a stand-in."""

from __future__ import annotations

from typing import Any

from .clock import Clock
from .message import Request
from .rules import Refused, RuleTable


class Record:
    """Accepted notifications, violated rules and counts, in memory."""

    def __init__(self, clock: Clock, rules: RuleTable) -> None:
        self._clock = clock
        self._rules = rules
        self.reset()

    def reset(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.refused: list[dict[str, Any]] = []
        self.undelivered: list[dict[str, Any]] = []
        self.noticed: list[dict[str, Any]] = []
        self.revoked: list[dict[str, Any]] = []
        self.requests = 0
        self.faulted = 0
        self.connections = 0
        self.streams_max = 0
        self.tokens_issued = 0
        self.tokens_seen = 0

    def take(self, token: str, headers: dict[str, str], payload: Any, id: str, **more: Any) -> dict[str, Any]:
        """Records one notification to one device."""
        notification = {
            "number": len(self.received) + 1,
            "at": self._clock.milliseconds(),
            "token": token,
            "headers": headers,
            "payload": payload,
            "id": id,
            "answered": True,
            **more,
        }
        self.received.append(notification)
        return notification

    def refuse(self, refused: Refused, request: Request | None) -> None:
        """Records a violated rule, or a response to a device's state."""
        rule = self._rules[refused.rule]
        entry = {
            "at": self._clock.milliseconds(),
            "rule": rule.name,
            "status": refused.status,
            "reason": refused.reason,
            "detail": refused.detail,
            "unverified": rule.unverified,
        }
        if rule.effect == "answer":
            self.undelivered.append({**entry, "token": refused.token})
        else:
            self.refused.append({**entry, "request": request.summary() if request else None})

    def notice(self, rule: str, detail: str = "", token: str | None = None) -> None:
        """Records a problem of an accepted request."""
        self.noticed.append(
            {
                "at": self._clock.milliseconds(),
                "rule": self._rules[rule].name,
                "detail": detail,
                "token": token,
                "unverified": self._rules[rule].unverified,
            }
        )

    def revoke(self, token: str, notification: Any) -> None:
        """Records the revocation of a notification to a device."""
        self.revoked.append({"at": self._clock.milliseconds(), "token": token, "notification": notification})

    def counts(self) -> dict[str, int]:
        return {
            "requests": self.requests,
            "received": len(self.received),
            "refused": len(self.refused),
            "undelivered": len(self.undelivered),
            "noticed": len(self.noticed),
            "revoked": len(self.revoked),
            "faulted": self.faulted,
            "connections": self.connections,
            "streamsMax": self.streams_max,
            "tokensIssued": self.tokens_issued,
            "tokensSeen": self.tokens_seen,
        }
