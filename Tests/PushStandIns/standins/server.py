"""The TLS server of a stand-in: accepts connections, applies faults, and calls the service."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback

from .faults import Fault, Faults
from .http1 import Http1Protocol
from .http2 import Http2Protocol
from .message import Connection, Exchange, Handler, Request, Response
from .record import Record
from .rules import Refused
from .service import Service

_UNREAD_SECONDS = 5
"""The seconds after which a response over HTTP/2 counts as read. Over HTTP/1.1, the next request confirms it."""


class Entrance(asyncio.Protocol):
    """A new connection before ALPN has selected its protocol."""

    def __init__(self, handler: Handler, protocols: tuple[str, ...]) -> None:
        self._handler = handler
        self._protocols = protocols

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        chosen = (tls.selected_alpn_protocol() if tls else None) or "http/1.1"
        connection = self._handler.opened(chosen)
        if chosen not in self._protocols:
            self._handler.malformed(connection, "the connection does not speak HTTP/2")
            transport.abort()
            return
        kind = Http2Protocol if chosen == "h2" else Http1Protocol
        protocol = kind(self._handler, connection)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class Gate:
    """Passes requests from the connections to the service, and applies the injected faults."""

    def __init__(self, service: Service, faults: Faults, record: Record) -> None:
        self._service = service
        self._faults = faults
        self._record = record
        self._connections = 0

    def opened(self, protocol: str) -> Connection:
        self._connections += 1
        self._record.connections += 1
        connection = Connection(self._connections, protocol, self._service.stream_limit())
        self._service.opened(connection)
        return connection

    def closed(self, connection: Connection) -> None:
        self._service.closed(connection)

    def serve(self, request: Request, exchange: Exchange) -> None:
        self._record.requests += 1
        if request.connection.protocol != "h2":
            request.connection.unread.clear()
        fault = self._faults.pick(self._service.kind(request))
        if fault is None:
            exchange.respond(self._take(request))
            return
        self._record.faulted += 1
        self._fail(fault, request, exchange)

    def _take(self, request: Request) -> Response:
        """Handles a request, and notes the accepted notifications."""
        known = len(self._record.received)
        response = self._answer(request)
        now = time.monotonic()
        for notification in self._record.received[known:]:
            notification["connection"] = request.connection.number
            request.connection.unread.append((now, notification))
        return response

    @staticmethod
    def _lose(connection: Connection) -> None:
        """Marks the latest responses of a connection as possibly lost, because it is cut."""
        now = time.monotonic()
        for answered, notification in connection.unread:
            if now - answered < _UNREAD_SECONDS:
                notification["answered"] = False
        connection.unread.clear()

    def _answer(self, request: Request) -> Response:
        try:
            return self._service.handle(request)
        except Refused as refused:
            self._record.refuse(refused, request)
            return self._service.refusal(refused, request)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return Response(500)

    def _fail(self, fault: Fault, request: Request, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        match fault.kind:
            case "status":
                exchange.respond(self._service.fault(fault, request))
            case "hang":
                loop.call_later(fault.seconds, self._answer_late, request, exchange)
            case "hangAfter":
                loop.call_later(fault.seconds, exchange.respond, self._take(request))
            case "reset":
                self._lose(request.connection)
                exchange.cut()
            case "resetAfter":
                self._take(request)
                self._lose(request.connection)
                exchange.cut()
            case "goaway":
                exchange.go_away(self._service.going_away(fault))
                # The connection closes a second later, regardless of pending responses.
                loop.call_later(_UNREAD_SECONDS / 2, self._lose, request.connection)
            case "streamReset":
                exchange.reset(fault.code)

    def _answer_late(self, request: Request, exchange: Exchange) -> None:
        """Responds after a hang, unless the sender has given up."""
        if exchange.is_open():
            exchange.respond(self._take(request))

    def malformed(self, connection: Connection, detail: str) -> None:
        if connection.protocol == "h2":
            self._refuse("malformed-http2", detail)
        elif "http/1.1" not in self._service.protocols:
            self._refuse("http2-only", detail)
        else:
            self._refuse("malformed-http1", detail)

    def streams(self, connection: Connection, count: int) -> None:
        self._record.streams_max = max(self._record.streams_max, count)

    def stream_over_limit(self, connection: Connection, known: bool) -> None:
        if known:
            self._refuse("stream-limit", "a stream beyond the acknowledged limit")
        else:
            self._record.notice("stream-before-settings")

    def priority_frame(self, connection: Connection) -> None:
        if "priority-frame" in self._service.rules:
            self._record.notice("priority-frame")

    def _refuse(self, rule: str, detail: str) -> None:
        self._record.refuse(Refused(rule, 0, "", detail), None)
