"""A proxy that understands HTTP: it can offer changed web files, and cut the API alone."""

import email.utils
import hashlib
import pathlib
import re
import socket
import threading

from harness.browser import POLICY, TYPES
from harness.proxy import reset

# The names of files in `Web/bundle` that have a hash of their content.
HASHED = re.compile(r"-[0-9A-Z]{8}\.(css|js)$")


class Front:
    """A proxy in front of a server.

    The files of the pages come from `web`, or from the server if it is `None`. `web` can be the folder `Web` or
    `Web/bundle`. While `is_online` is false, all other
    requests fail. A page can then be loaded, but has no connection, as a page that the browser cached.
    """

    def __init__(self, target_port, web=None):
        self.target_port = target_port
        self.web = pathlib.Path(web) if web else None
        self.is_online = True
        self._lock = threading.Lock()
        self._sockets = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def go_offline(self):
        """Drops all connections without a close handshake, and fails requests until `go_online`."""
        with self._lock:
            self.is_online = False
            for connection in self._sockets:
                reset(connection)
            self._sockets.clear()

    def go_online(self):
        self.is_online = True

    def stop(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.go_offline()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # The listener was closed.
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        """Answers the requests of a connection until one is forwarded."""
        received = b""
        try:
            while True:
                while b"\r\n\r\n" not in received:
                    data = client.recv(65_536)
                    if not data:
                        return client.close()
                    received += data
                head, _, rest = received.partition(b"\r\n\r\n")
                file = self._file(head.split(b" ", 2)[1].decode().split("?")[0])
                if file is None or self.web is None:
                    return self._forward(client, head, rest, is_page=file is not None)
                client.sendall(self._answer(file, head))
                received = rest
        except OSError:  # The browser closed the connection.
            reset(client)

    def _file(self, path):
        """The path below `Web` of a file of the pages, or `None`."""
        name = {"/": "chat/index.html", "/admin": "admin/index.html"}.get(path, path[1:])
        is_file = name.startswith(("admin/", "chat/", "chunks/", "sdk/")) and pathlib.Path(name).suffix in TYPES
        return name if is_file else None

    def _answer(self, name, head):
        path = self.web / name
        if not path.is_file():
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        body = path.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        status = "304 Not Modified" if tag.encode() in head else "200 OK"
        fields = [
            f"Date: {email.utils.formatdate(usegmt=True)}",
            f"ETag: {tag}",
            f"Cache-Control: {'immutable, max-age=31536000' if HASHED.search(name) else 'no-cache'}",
            "Access-Control-Allow-Origin: *",
        ]
        if path.suffix == ".html":
            fields.append(f"Content-Security-Policy: {POLICY}")
        if status == "200 OK":
            fields += [f"Content-Type: {TYPES[path.suffix]}", f"Content-Length: {len(body)}"]
        answer = f"HTTP/1.1 {status}\r\n" + "\r\n".join(fields) + "\r\n\r\n"
        return answer.encode() + (body if status == "200 OK" else b"")

    def _forward(self, client, head, rest, is_page):
        """Sends a request to the server. The connection then ends, unless it becomes a WebSocket."""
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection: keep-alive")]
        if len(lines) < head.count(b"\r\n") + 1:
            lines.append(b"Connection: close")
        with self._lock:
            if not self.is_online and not is_page:
                return reset(client)
            server = socket.create_connection(("127.0.0.1", self.target_port))
            self._sockets |= {client, server}
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + rest)
        threading.Thread(target=self._copy, args=(server, client), daemon=True).start()
        self._copy(client, server)

    def _copy(self, source, target):
        try:
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            # One side is gone, so the other one must notice it.
            reset(source)
            reset(target)
