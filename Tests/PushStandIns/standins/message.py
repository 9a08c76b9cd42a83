"""A request, a response and the connection they travel on, whatever the HTTP version."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl


class Connection:
    """One accepted connection."""

    def __init__(self, number: int, protocol: str, stream_limit: int) -> None:
        self.number = number
        self.protocol = protocol
        self.stream_limit = stream_limit
        """The concurrent HTTP/2 streams allowed; a service may change it, the peer is then told."""
        self.state: Any = None
        """Whatever the service keeps for a connection."""
        self.unread: deque[tuple[float, dict[str, Any]]] = deque(maxlen=10_000)
        """When which notifications were answered whose answers the sender may not have read yet."""


class Request:
    """One whole request."""

    __slots__ = ("method", "target", "fields", "headers", "repeated", "body", "connection")

    def __init__(
        self, method: str, target: str, fields: list[tuple[str, str]], body: bytes, connection: Connection
    ) -> None:
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
        self.connection = connection
        self.headers = dict(reversed(fields))
        """The first value of each header, by lower-case name."""
        self.repeated = len(self.headers) != len(fields)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)

    def values(self, name: str) -> list[str]:
        """All values of a header that may be repeated."""
        return [value for key, value in self.fields if key == name]

    def media_type(self) -> str:
        """The content type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def shown_headers(self) -> dict[str, str]:
        """The headers as they are recorded: without credentials."""
        return {name: value for name, value in self.headers.items() if name != "authorization"}

    def summary(self) -> dict[str, Any]:
        """The request as it is shown in a list of refusals."""
        return {
            "method": self.method,
            "path": self.target,
            "headers": self.shown_headers(),
            "body": self.body[:1024].decode("utf-8", "replace"),
            "bodyBytes": len(self.body),
        }


@dataclass
class Response:
    """One whole response."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @classmethod
    def json(cls, status: int, value: Any, headers: list[tuple[str, str]] | None = None) -> Response:
        body = json.dumps(value, ensure_ascii=False).encode()
        return cls(status, [("content-type", "application/json"), *(headers or [])], body)


class Exchange(Protocol):
    """The place where one request is answered, or not."""

    connection: Connection

    def is_open(self) -> bool:
        """Whether the sender still waits for the answer."""

    def respond(self, response: Response) -> None:
        """Send the answer."""

    def cut(self) -> None:
        """Cut the connection without an answer."""

    def reset(self, code: str) -> None:
        """Reset the stream with an HTTP/2 error code; over HTTP/1.1 the connection is cut."""

    def go_away(self, data: bytes) -> None:
        """Send GOAWAY below this request and close soon; over HTTP/1.1 the connection is cut."""


class Handler(Protocol):
    """What a connection hands its requests to."""

    def opened(self, protocol: str) -> Connection:
        """A connection was accepted."""

    def closed(self, connection: Connection) -> None:
        """A connection ended."""

    def serve(self, request: Request, exchange: Exchange) -> None:
        """Answer a request, now or later."""

    def malformed(self, connection: Connection, detail: str) -> None:
        """A peer broke the HTTP protocol itself."""

    def streams(self, connection: Connection, count: int) -> None:
        """So many streams are open at once."""

    def stream_over_limit(self, connection: Connection, known: bool) -> None:
        """A stream was refused; known says whether the peer had acknowledged the limit."""

    def priority_frame(self, connection: Connection) -> None:
        """A PRIORITY frame arrived."""
