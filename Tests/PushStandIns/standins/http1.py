"""HTTP/1.1 with keep-alive, on h11."""

from __future__ import annotations

import asyncio

import h11

from .message import Connection, Handler, Request, Response

BODY_LIMIT = 1 << 19
"""The maximum number of stored bytes of a body; the rest is discarded. Every service has a lower limit."""


class Http1Protocol(asyncio.Protocol):
    """A connection that handles one request at a time, in order."""

    def __init__(self, handler: Handler, connection: Connection) -> None:
        self._handler = handler
        self.connection = connection
        self._http = h11.Connection(h11.SERVER)
        self._transport: asyncio.Transport | None = None
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._waiting = False
        self._advancing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._handler.closed(self.connection)

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._advance()

    def eof_received(self) -> bool:
        self._http.receive_data(b"")
        self._advance()
        return False

    def _advance(self) -> None:
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._transport is not None and not self._waiting and self._step():
                pass
        except h11.RemoteProtocolError as error:
            self._refuse_malformed(error)
        finally:
            self._advancing = False

    def _step(self) -> bool:
        """Handles one event. Returns False if no more events can be handled now."""
        event = self._http.next_event()
        if event is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            return False
        if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            return False
        if isinstance(event, h11.Request):
            self._head, self._body = event, bytearray()
        elif isinstance(event, h11.Data):
            if len(self._body) <= BODY_LIMIT:
                self._body += event.data
        elif isinstance(event, h11.EndOfMessage):
            self._waiting = True
            self._handler.serve(self._request(), Http1Exchange(self))
        return True

    def _request(self) -> Request:
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self._head.headers]
        return Request(
            self._head.method.decode(), self._head.target.decode("latin-1"), fields, bytes(self._body), self.connection
        )

    def respond(self, response: Response) -> None:
        headers = [*response.headers, ("content-length", str(len(response.body)))]
        self._send(h11.Response(status_code=response.status, headers=headers))
        if self._head.method != b"HEAD":
            self._send(h11.Data(data=response.body))
        self._send(h11.EndOfMessage())
        self._waiting = False
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._advance()
        elif self._transport is not None:
            self._transport.close()

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data and self._transport is not None:
            self._transport.write(data)

    def _refuse_malformed(self, error: h11.RemoteProtocolError) -> None:
        self._handler.malformed(self.connection, str(error))
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send(h11.Response(status_code=error.error_status_hint, headers=[("connection", "close")]))
            self._send(h11.EndOfMessage())
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def is_open(self) -> bool:
        return self._transport is not None

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None


class Http1Exchange:
    """The response to the current request of the connection."""

    def __init__(self, protocol: Http1Protocol) -> None:
        self._protocol = protocol
        self.connection = protocol.connection

    def is_open(self) -> bool:
        return self._protocol.is_open()

    def respond(self, response: Response) -> None:
        if self._protocol.is_open():
            self._protocol.respond(response)

    def cut(self) -> None:
        self._protocol.cut()

    def reset(self, code: str) -> None:
        self._protocol.cut()

    def go_away(self, data: bytes) -> None:
        self._protocol.cut()
