"""Raw HTTP/2 frames, for requests that a correct client can't send."""

from __future__ import annotations

import socket
import ssl
import struct
from urllib.parse import urlsplit

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 2, 3, 4, 7, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + payload


class RawConnection:
    """A TLS connection that sends arbitrary frames."""

    def __init__(self, endpoint: str, authority: str) -> None:
        context = ssl.create_default_context(cafile=authority)
        context.set_alpn_protocols(["h2"])
        parts = urlsplit(endpoint)
        raw = socket.create_connection(("127.0.0.1", parts.port), timeout=5)
        self.socket = context.wrap_socket(raw, server_hostname=parts.hostname)
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.buffer = b""
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def headers(self, stream: int, fields: list[tuple[str, str]], flags: int = END_HEADERS) -> bytes:
        return frame(HEADERS, flags, stream, self.encoder.encode(fields))

    def read(self) -> tuple[int, int, int, bytes] | None:
        """Returns the next frame (kind, flags, stream, payload), or None at the end of the connection."""
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3]):
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                return None
            self.buffer += data
        length = int.from_bytes(self.buffer[:3])
        kind, flags, stream = struct.unpack("!BBI", self.buffer[3:9])
        payload, self.buffer = self.buffer[9 : 9 + length], self.buffer[9 + length :]
        return kind, flags, stream, payload

    def until(self, kind: int, stream: int | None = None) -> tuple[int, int, int, bytes]:
        """Reads up to the next frame of a kind."""
        while (got := self.read()) is not None:
            if got[0] == kind and stream in (None, got[2]):
                return got
        raise AssertionError(f"the connection ended before a frame of kind {kind}")

    def close(self) -> None:
        self.socket.close()
