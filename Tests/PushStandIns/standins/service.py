"""What every stand-in service has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from .clock import Clock
from .faults import Fault
from .message import Connection, Request, Response
from .record import Record
from .rules import Refused, RuleTable

ControlRoute = Callable[[dict[str, Any]], Any]


class Service(ABC):
    """One push service: it checks requests, keeps devices, and forms the service's own answers."""

    rules: ClassVar[RuleTable]
    settings_type: ClassVar[type]
    protocols: ClassVar[tuple[str, ...]] = ("http/1.1",)

    def __init__(self, settings: Any, directory: Path, clock: Clock, record: Record) -> None:
        self.settings = settings
        self.directory = directory
        self.clock = clock
        self.record = record
        self.endpoint = ""

    def start(self, endpoint: str) -> dict[str, Any]:
        """Take the address that was bound, and say what a client needs besides."""
        self.endpoint = endpoint
        return self.client_needs()

    @abstractmethod
    def client_needs(self) -> dict[str, Any]:
        """The members of the ready line that only this service has."""

    def stream_limit(self) -> int:
        """The concurrent HTTP/2 streams that a new connection may have."""
        return 100

    def opened(self, connection: Connection) -> None:
        """A connection was accepted."""

    def closed(self, connection: Connection) -> None:
        """A connection ended."""

    def kind(self, request: Request) -> str:
        """What a request is for: send, token or revoke. Faults apply to send unless they say otherwise."""
        return "send"

    @abstractmethod
    def handle(self, request: Request) -> Response:
        """Check a request, record what it holds and answer it; raise Refused if it breaks a rule."""

    @abstractmethod
    def refusal(self, refused: Refused, request: Request) -> Response:
        """The service's own error answer."""

    @abstractmethod
    def fault(self, fault: Fault, request: Request) -> Response:
        """The service's own error answer for an ordered status."""

    def going_away(self, fault: Fault) -> bytes:
        """The debug data of an ordered GOAWAY."""
        return b""

    @abstractmethod
    def make_devices(self, order: dict[str, Any]) -> list[Any]:
        """Make device tokens as the control request orders."""

    @abstractmethod
    def kill_devices(self, order: dict[str, Any]) -> int:
        """Make devices unregistered; returns how many."""

    def control_routes(self) -> dict[str, ControlRoute]:
        """Further POST control requests, by path."""
        return {}

    def reset(self) -> None:
        """Forget what was counted; keep devices, keys and tokens."""


def retry_after(fault: Fault) -> list[tuple[str, str]]:
    """The Retry-After header of an ordered fault, if it has one."""
    return [] if fault.retry_after is None else [("retry-after", str(fault.retry_after))]
