"""Requests, responses and connections, independent of the HTTP version."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl


class Connection:
    """An accepted connection."""

    def __init__(self, number: int, protocol: str, stream_limit: int) -> None:
        self.number = number
        self.protocol = protocol
        self.stream_limit = stream_limit
        """The maximum number of concurrent HTTP/2 streams. If a service changes it, the peer gets new SETTINGS."""
        self.state: Any = None
        """The state that the service stores for a connection."""
        self.unread: deque[tuple[float, dict[str, Any]]] = deque(maxlen=10_000)
        """The responses that the sender may not have read yet: their times and notifications."""


class Request:
    """A complete request."""

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
        """Returns all values of a header that can be repeated."""
        return [value for key, value in self.fields if key == name]

    def media_type(self) -> str:
        """Returns the content type in lower case, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def shown_headers(self) -> dict[str, str]:
        """Returns the headers for the record, without credentials."""
        return {name: value for name, value in self.headers.items() if name != "authorization"}

    def summary(self) -> dict[str, Any]:
        """Returns the request for the list of refusals."""
        return {
            "method": self.method,
            "path": self.target,
            "headers": self.shown_headers(),
            "body": self.body[:1024].decode("utf-8", "replace"),
            "bodyBytes": len(self.body),
        }


@dataclass
class Response:
    """A complete response."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @classmethod
    def json(cls, status: int, value: Any, headers: list[tuple[str, str]] | None = None) -> Response:
        body = json.dumps(value, ensure_ascii=False).encode()
        return cls(status, [("content-type", "application/json"), *(headers or [])], body)


class Exchange(Protocol):
    """The exchange of one request and its response."""

    connection: Connection

    def is_open(self) -> bool:
        """Returns whether the sender still waits for the response."""

    def respond(self, response: Response) -> None:
        """Sends the response."""

    def cut(self) -> None:
        """Cuts the connection without a response."""

    def reset(self, code: str) -> None:
        """Resets the stream with an HTTP/2 error code. Over HTTP/1.1, cuts the connection."""

    def go_away(self, data: bytes) -> None:
        """Sends GOAWAY with a last stream below this request, then closes. Over HTTP/1.1, cuts the connection."""


class Handler(Protocol):
    """The receiver of the requests of a connection."""

    def opened(self, protocol: str) -> Connection:
        """Called when a connection was accepted."""

    def closed(self, connection: Connection) -> None:
        """Called when a connection ended."""

    def serve(self, request: Request, exchange: Exchange) -> None:
        """Handles a request, now or later."""

    def malformed(self, connection: Connection, detail: str) -> None:
        """Called when a peer violated the HTTP protocol."""

    def streams(self, connection: Connection, count: int) -> None:
        """Called with the number of open streams."""

    def stream_over_limit(self, connection: Connection, known: bool) -> None:
        """Called when a stream was refused; known is whether the peer had acknowledged the limit."""

    def priority_frame(self, connection: Connection) -> None:
        """Called when a PRIORITY frame arrived."""
