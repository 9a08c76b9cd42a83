"""A TCP proxy between the browser and the server that cuts connections.

Browsers keep an open WebSocket open while they emulate being offline, so the tests cut the network here.
"""

import contextlib
import socket
import struct
import threading

from harness.server import free_port


class Proxy:
    def __init__(self, target_port):
        self.target_port = target_port
        self.port = free_port()
        self.is_open = True
        self.received = 0  # The number of bytes from browsers.
        self.is_holding = False
        self._hold_at = None
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._sockets = set()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut(self):
        """Drops all connections without a close handshake, as a pulled cable does. New ones succeed."""
        with self._lock:
            for connection in self._sockets:
                reset(connection)
            self._sockets.clear()
        self.release()

    def hold_after(self, size):
        """Stops the connection that brings the next `size` bytes from browsers, without closing it. Others go on."""
        self.is_holding = False
        self._released.clear()
        self._hold_at = self.received + size

    def release(self):
        """Continues the connection that is stopped."""
        self.is_holding = False
        self._hold_at = None
        self._released.set()

    def close_network(self):
        """Drops all connections, and refuses new ones until `open_network`."""
        self.is_open = False
        self.cut()

    def open_network(self):
        self.is_open = True

    def stop(self):
        self.is_open = False
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self):
        with contextlib.suppress(OSError):  # The listener was closed.
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target_port))
        except OSError:
            return reset(client)
        with self._lock:
            if not self.is_open:
                reset(client)
                return reset(server)
            self._sockets |= {client, server}
        threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
        self._copy(client, server, self._received)

    def _received(self, size):
        with self._lock:
            self.received += size
            holds = self._hold_at is not None and self.received > self._hold_at
            if holds:
                self._hold_at, self.is_holding = None, True
        if holds:
            self._released.wait()

    def _copy(self, source, target, received=lambda size: None):
        try:
            while data := source.recv(65_536):
                received(len(data))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One side is gone, so the other one must notice it.
            reset(source)
            reset(target)


def reset(connection):
    """Closes a connection so that the other side gets a reset."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
