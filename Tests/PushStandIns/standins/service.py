"""The base class of all stand-in services."""

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
    """A push service: checks requests, stores devices, and creates the service's own responses."""

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
        """Stores the bound address, and returns further members of the ready line."""
        self.endpoint = endpoint
        return self.client_needs()

    @abstractmethod
    def client_needs(self) -> dict[str, Any]:
        """Returns the members of the ready line that only this service has."""

    def stream_limit(self) -> int:
        """Returns the maximum number of concurrent HTTP/2 streams of a new connection."""
        return 100

    def opened(self, connection: Connection) -> None:
        """Called when a connection was accepted."""

    def closed(self, connection: Connection) -> None:
        """Called when a connection ended."""

    def kind(self, request: Request) -> str:
        """Returns the purpose of a request: send, token or revoke. By default, faults apply to send."""
        return "send"

    @abstractmethod
    def handle(self, request: Request) -> Response:
        """Checks, records and answers a request, or raises Refused if it violates a rule."""

    @abstractmethod
    def refusal(self, refused: Refused, request: Request) -> Response:
        """Returns the service's own error response."""

    @abstractmethod
    def fault(self, fault: Fault, request: Request) -> Response:
        """Returns the service's own error response for an injected status."""

    def going_away(self, fault: Fault) -> bytes:
        """Returns the debug data of an injected GOAWAY."""
        return b""

    @abstractmethod
    def make_devices(self, order: dict[str, Any]) -> list[Any]:
        """Creates device tokens for a control request."""

    @abstractmethod
    def kill_devices(self, order: dict[str, Any]) -> int:
        """Unregisters devices, and returns their number."""

    def control_routes(self) -> dict[str, ControlRoute]:
        """Returns further POST control requests, by path."""
        return {}

    def reset(self) -> None:
        """Clears counters. Devices, keys and tokens stay."""


def retry_after(fault: Fault) -> list[tuple[str, str]]:
    """Returns the Retry-After header of an injected fault, if it has one."""
    return [] if fault.retry_after is None else [("retry-after", str(fault.retry_after))]
