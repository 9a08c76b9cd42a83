"""A push service on this computer, which Firefox uses instead of Mozilla's."""

import base64
import http.server
import json
import ssl
import subprocess
import threading
import uuid

from websockets.sync.server import serve


class Push:
    """A push that the service accepted."""

    def __init__(self, endpoint, headers):
        self.id = uuid.uuid4().hex
        self.endpoint, self.headers = endpoint, headers
        self.code = None  # What Firefox acknowledged: 100 if it has started the push event, 101 if it can't decrypt.


class PushService:
    """Passes encrypted pushes from servers to Firefox.

    Firefox connects with a WebSocket, and registers a channel for each subscription. Servers post pushes over HTTPS to
    the endpoint of a channel.
    """

    def __init__(self, folder):
        """Starts the service, with a new certificate for localhost in `folder`."""
        self.pushes = []
        self._channels = {}  # The connection and the server's public key, by channel.
        self.certificate = folder / "push-service.pem"
        self._browsers = serve(self._answer, "127.0.0.1", 0, subprotocols=["push-notification"])
        self._endpoints = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._endpoints.socket = self._make_context(folder / "push-service.key").wrap_socket(
            self._endpoints.socket, server_side=True
        )
        for server in (self._browsers, self._endpoints):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop(self):
        self._browsers.shutdown()
        self._endpoints.shutdown()
        self._endpoints.server_close()

    @property
    def host(self):
        """The host and the port of the endpoints."""
        return f"localhost:{self._endpoints.server_port}"

    @property
    def preferences(self):
        """The preferences with which Firefox uses this service, and shows notifications without a desktop."""
        port = self._browsers.socket.getsockname()[1]
        return {
            "alerts.useSystemBackend": False,
            "dom.push.serverURL": f"ws://127.0.0.1:{port}/",
            "dom.push.testing.allowInsecureServerURL": True,
            # The preferences recommended for tests turn off the connection to the push service.
            "remote.prefs.recommended": False,
        }

    @property
    def endpoints(self):
        """The endpoints of all subscriptions."""
        return [self._endpoint(channel) for channel in self._channels]

    def _endpoint(self, channel):
        return f"https://{self.host}/{channel}"

    def _make_context(self, key):
        request = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-addext", "subjectAltName=DNS:localhost"]
        subprocess.run([*request, *kind, "-keyout", key, "-out", self.certificate], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        return context

    # Firefox

    def _answer(self, connection):
        """Answers the messages of a browser."""
        for text in connection:
            message = json.loads(text)
            kind, channel = message.get("messageType"), message.get("channelID")
            if kind == "hello":
                answer = {"uaid": message.get("uaid") or uuid.uuid4().hex, "use_webpush": True}
            elif kind == "register":
                self._channels[channel] = connection, message["key"].rstrip("=")
                answer = {"channelID": channel, "pushEndpoint": self._endpoint(channel)}
            elif kind == "unregister":
                self._channels.pop(channel, None)
                answer = {"channelID": channel}
            else:
                if kind == "ack":
                    self._acknowledge(message["updates"])
                elif kind is None:  # Firefox checks the connection.
                    connection.send("{}")
                continue
            connection.send(json.dumps({"messageType": kind, "status": 200, **answer}))

    def _acknowledge(self, updates):
        codes = {update["version"]: update["code"] for update in updates}
        for push in self.pushes:
            push.code = codes.get(push.id, push.code)

    # Servers

    def _deliver(self, channel, headers, body):
        """Passes a push to Firefox. Returns the status of the response, as Mozilla's service would."""
        if channel not in self._channels:
            return 404
        connection, key = self._channels[channel]
        if "ttl" not in headers:
            return 400
        if f"k={key}" not in headers.get("authorization", ""):
            return 403
        push = Push(self._endpoint(channel), headers)
        self.pushes.append(push)
        notification = {
            "messageType": "notification",
            "channelID": channel,
            "version": push.id,
            "data": base64.urlsafe_b64encode(body).decode(),
            "headers": {"encoding": headers["content-encoding"]},
        }
        connection.send(json.dumps(notification))
        return 201

    def _handler(service):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                headers = {name.lower(): value for name, value in self.headers.items()}
                body = self.rfile.read(int(headers["content-length"]))
                self.send_response(service._deliver(self.path[1:], headers, body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler
