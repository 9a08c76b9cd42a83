"""HTTP/2, on h2."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PriorityUpdated,
    RequestReceived,
    SettingsAcknowledged,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame, SettingsFrame

from .http1 import BODY_LIMIT
from .message import Connection, Handler, Request, Response

_CONFIG = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
)
_WINDOW = 1 << 20
_CONNECTION_WINDOW = 1 << 24
_HEADER_LIST_SIZE = 8000
_NEVER_REACHED = 1 << 30
_GO_AWAY_GRACE = 1.0

_PSEUDO = {b":method", b":scheme", b":path", b":authority"}
_FORBIDDEN = {b"connection", b"transfer-encoding", b"keep-alive", b"upgrade", b"proxy-connection"}

Fields = list[tuple[bytes, bytes]]


def malformed(fields: Fields) -> str | None:
    """Returns the violation of RFC 9113 section 8 in these header fields, if any."""
    pseudo: set[bytes] = set()
    regular = False
    for name, value in fields:
        if name[:1] == b":":
            if regular or name in pseudo or name not in _PSEUDO:
                return f"pseudo-header {name.decode('latin-1')} is repeated, unknown or late"
            pseudo.add(name)
            continue
        regular = True
        if name in _FORBIDDEN or (name == b"te" and value != b"trailers"):
            return f"connection-specific header {name.decode('latin-1')}"
        if not name or name != name.lower():
            return f"header name {name.decode('latin-1')} is not lower case"
    missing = {b":method", b":scheme", b":path"} - pseudo
    return f"pseudo-header {missing.pop().decode()} is missing" if missing else None


class Incoming:
    """A request that is not yet complete."""

    __slots__ = ("fields", "body")

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.body = bytearray()


class Http2Protocol(asyncio.Protocol):
    """A connection with many streams."""

    def __init__(self, handler: Handler, connection: Connection) -> None:
        self._handler = handler
        self.connection = connection
        self._http = H2Connection(_CONFIG)
        self._transport: asyncio.Transport | None = None
        self._incoming: dict[int, Incoming] = {}
        self._open: set[int] = set()
        self._delayed: dict[int, bytes] = {}
        self._announced: list[int] = []
        self._acknowledged = 0
        self._unacknowledged_bytes = 0
        self._highest_served = 0
        self._last_stream: int | None = None
        self._handlers = {
            RequestReceived: self._request_received,
            DataReceived: self._data_received,
            StreamEnded: self._stream_ended,
            StreamReset: self._stream_reset,
            WindowUpdated: self._window_updated,
            SettingsAcknowledged: self._settings_acknowledged,
            ConnectionTerminated: self._connection_terminated,
            PriorityUpdated: self._priority_updated,
        }
        self._priority_in_headers: PriorityUpdated | None = None
        self._in_batch = False

    # Connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._http.local_settings = self._settings(self.connection.stream_limit)
        self._http.initiate_connection()
        # h2 ends the whole connection if a peer exceeds its limit. This class refuses only the stream, so h2
        # gets a limit that is never reached.
        self._http.local_settings = self._settings(_NEVER_REACHED)
        self._http.increment_flow_control_window(_CONNECTION_WINDOW)
        self._announced.append(self.connection.stream_limit)
        self._flush()

    @staticmethod
    def _settings(stream_limit: int) -> Settings:
        return Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: stream_limit,
                SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: _HEADER_LIST_SIZE,
            },
        )

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._open.clear()
        self._handler.closed(self.connection)

    def data_received(self, data: bytes) -> None:
        try:
            events = self._http.receive_data(data)
        except ProtocolError as error:
            self._handler.malformed(self.connection, f"{type(error).__name__}: {error}")
            self._flush()
            if self._transport is not None:
                self._transport.close()
            return
        self._in_batch = True
        for event in events:
            if self._transport is None:
                return
            if (handle := self._handlers.get(type(event))) is not None:
                handle(event)
        self._in_batch = False
        self._flush()

    def _flush(self) -> None:
        if self._transport is None:
            return
        if data := self._http.data_to_send():
            self._transport.write(data)

    def _write_frame(self, frame: Frame) -> None:
        """Sends a frame without the knowledge of h2."""
        self._flush()
        if self._transport is not None:
            self._transport.write(frame.serialize())

    # Events

    def _request_received(self, event: RequestReceived) -> None:
        stream = event.stream_id
        self._priority_in_headers = event.priority_updated
        if self._last_stream is not None and stream > self._last_stream:
            return
        if fault := malformed(event.headers):
            self._handler.malformed(self.connection, fault)
            self._refuse(stream, ErrorCodes.PROTOCOL_ERROR)
            return
        if len(self._open) >= max(self._announced[max(self._acknowledged - 1, 0) :]):
            self._handler.stream_over_limit(self.connection, known=self._acknowledged > 0)
            self._refuse(stream, ErrorCodes.REFUSED_STREAM)
            return
        self._open.add(stream)
        self._incoming[stream] = Incoming(event.headers)
        self._handler.streams(self.connection, len(self._open))

    def _refuse(self, stream: int, code: ErrorCodes) -> None:
        with suppress(ProtocolError):
            self._http.reset_stream(stream, code)

    def _data_received(self, event: DataReceived) -> None:
        self._replenish(event.flow_controlled_length)
        incoming = self._incoming.get(event.stream_id)
        if incoming is None:
            return
        if len(incoming.body) <= BODY_LIMIT:
            incoming.body += event.data
        elif event.stream_ended is None and event.flow_controlled_length:
            with suppress(ProtocolError):
                self._http.increment_flow_control_window(event.flow_controlled_length, event.stream_id)

    def _replenish(self, length: int) -> None:
        """Replenishes the connection's flow-control window in large steps."""
        self._unacknowledged_bytes += length
        if self._unacknowledged_bytes > _CONNECTION_WINDOW // 2:
            self._http.increment_flow_control_window(self._unacknowledged_bytes)
            self._unacknowledged_bytes = 0

    def _stream_ended(self, event: StreamEnded) -> None:
        stream = event.stream_id
        incoming = self._incoming.pop(stream, None)
        if incoming is None or (self._last_stream is not None and stream > self._last_stream):
            return
        self._handler.serve(self._request(incoming), Http2Exchange(self, stream))
        if self._last_stream is None:
            self._highest_served = max(self._highest_served, stream)

    def _request(self, incoming: Incoming) -> Request:
        method = target = ""
        fields = []
        for name, value in incoming.fields:
            text = value.decode("utf-8", "surrogateescape")
            if name == b":method":
                method = text
            elif name == b":path":
                target = text
            elif name[:1] != b":":
                fields.append((name.decode("latin-1"), text))
        return Request(method, target, fields, bytes(incoming.body), self.connection)

    def _stream_reset(self, event: StreamReset) -> None:
        self._open.discard(event.stream_id)
        self._incoming.pop(event.stream_id, None)
        self._delayed.pop(event.stream_id, None)

    def _window_updated(self, event: WindowUpdated) -> None:
        for stream in list(self._delayed):
            self._send_body(stream, self._delayed.pop(stream))

    def _settings_acknowledged(self, event: SettingsAcknowledged) -> None:
        self._acknowledged = min(self._acknowledged + 1, len(self._announced))

    def _connection_terminated(self, event: ConnectionTerminated) -> None:
        self._open.clear()
        self._transport.close()

    def _priority_updated(self, event: PriorityUpdated) -> None:
        if event is not self._priority_in_headers:
            self._handler.priority_frame(self.connection)

    # Responses

    def is_open(self, stream: int) -> bool:
        return stream in self._open

    def respond(self, stream: int, response: Response) -> None:
        if stream not in self._open:
            return
        fields = [(b":status", b"%d" % response.status)]
        fields += [(name.encode(), value.encode()) for name, value in response.headers]
        try:
            self._http.send_headers(stream, fields, end_stream=not response.body)
        except ProtocolError:
            # The peer reset the stream or closed the connection, and h2 has not reported the event yet.
            self._open.discard(stream)
            return
        if response.body:
            self._send_body(stream, response.body)
        else:
            self._open.discard(stream)
        if self.connection.stream_limit != self._announced[-1]:
            self._announce_limit()
        if not self._in_batch:
            self._flush()

    def _send_body(self, stream: int, body: bytes) -> None:
        """Sends the body, or delays it until the peer's window is large enough."""
        if self._http.local_flow_control_window(stream) < len(body):
            self._delayed[stream] = body
            return
        self._http.send_data(stream, body, end_stream=True)
        self._open.discard(stream)

    def _announce_limit(self) -> None:
        limit = self.connection.stream_limit
        self._announced.append(limit)
        self._write_frame(SettingsFrame(0, settings={SettingsFrame.MAX_CONCURRENT_STREAMS: limit}))

    def reset(self, stream: int, code: str) -> None:
        self._incoming.pop(stream, None)
        if stream not in self._open:
            return
        self._open.discard(stream)
        self._refuse(stream, ErrorCodes[code])
        if not self._in_batch:
            self._flush()

    def cut(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
            self._open.clear()

    def go_away(self, stream: int, data: bytes) -> None:
        if self._last_stream is not None or self._transport is None:
            return
        self._last_stream = self._highest_served
        self._open = {number for number in self._open if number <= self._last_stream}
        self._write_frame(GoAwayFrame(0, last_stream_id=self._last_stream, error_code=0, additional_data=data))
        asyncio.get_running_loop().call_later(_GO_AWAY_GRACE, self._transport.close)


class Http2Exchange:
    """The response on one stream."""

    __slots__ = ("_protocol", "_stream")

    def __init__(self, protocol: Http2Protocol, stream: int) -> None:
        self._protocol = protocol
        self._stream = stream

    @property
    def connection(self) -> Connection:
        return self._protocol.connection

    def is_open(self) -> bool:
        return self._protocol.is_open(self._stream)

    def respond(self, response: Response) -> None:
        self._protocol.respond(self._stream, response)

    def cut(self) -> None:
        self._protocol.cut()

    def reset(self, code: str) -> None:
        self._protocol.reset(self._stream, code)

    def go_away(self, data: bytes) -> None:
        self._protocol.go_away(self._stream, data)
