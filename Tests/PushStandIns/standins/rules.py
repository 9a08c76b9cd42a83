"""Rules, tables of rules, and the exception for a violated rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Mark(StrEnum):
    """The evidence level of a statement in the documents."""

    VERIFIED = "verified"
    SECOND_HAND = "second-hand"
    UNVERIFIED = "unverified"


class Effect(StrEnum):
    """The reaction of the stand-in to a violated rule."""

    REFUSE = "refuse"
    """The request is refused and listed under /refused."""
    ANSWER = "answer"
    """The service's response to a device's state, listed under /undelivered. The sender made no mistake."""
    NOTICE = "notice"
    """The request is accepted and listed under /noticed."""
    TRANSPORT = "transport"
    """The stand-in does not respond, so nothing is listed."""


_WEAKEST_FIRST = (Mark.UNVERIFIED, Mark.SECOND_HAND, Mark.VERIFIED)


@dataclass(frozen=True)
class Rule:
    """One requirement of a service, with its source and evidence."""

    name: str
    text: str
    source: str
    condition: Mark = Mark.VERIFIED
    """The evidence that the service has this requirement."""
    answer: Mark = Mark.VERIFIED
    """The evidence that the service responds to a violation as the stand-in does."""
    effect: Effect = Effect.REFUSE

    @property
    def mark(self) -> Mark:
        """The weaker of the two evidence levels."""
        return min(self.condition, self.answer, key=_WEAKEST_FIRST.index)

    @property
    def unverified(self) -> bool:
        return self.mark is Mark.UNVERIFIED

    def listed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "text": self.text,
            "source": self.source,
            "mark": self.mark,
            "condition": self.condition,
            "answer": self.answer,
            "effect": self.effect,
            "unverified": self.unverified,
        }


class RuleTable:
    """The rules of one service, by name."""

    def __init__(self, service: str, rules: Iterable[Rule]) -> None:
        self.service = service
        self._rules: dict[str, Rule] = {}
        for rule in rules:
            if rule.name in self._rules:
                raise ValueError(f"{service} has two rules named {rule.name}")
            self._rules[rule.name] = rule

    def __getitem__(self, name: str) -> Rule:
        return self._rules[name]

    def __contains__(self, name: str) -> bool:
        return name in self._rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)


@dataclass
class Refused(Exception):
    """A request violated a rule, or a device's state prevents delivery."""

    rule: str
    status: int
    reason: str
    detail: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    """Additional members of the service's own error body."""
    headers: list[tuple[str, str]] = field(default_factory=list)
    token: str | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail or self.reason}"
