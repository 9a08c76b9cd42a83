"""An app with an origin of its own, which the server must allow."""

import http.server
import pathlib
import threading
import urllib.request

from harness.browser import WEB
from harness.server import free_port


class AppPages:
    """Serves the app's service worker `/worker.js`. Any other path is an empty page."""

    def __init__(self):
        port = free_port()
        self.url = f"http://localhost:{port}"
        self.server = None  # The worker's script comes from this server. Set it before a page registers the worker.
        self._pages = http.server.ThreadingHTTPServer(("localhost", port), self._handler())
        threading.Thread(target=self._pages.serve_forever, daemon=True).start()

    def stop(self):
        self._pages.shutdown()
        self._pages.server_close()

    def _worker(self):
        if WEB:
            return (pathlib.Path(WEB) / "sdk/push-worker.js").read_bytes()
        with urllib.request.urlopen(self.server.url + "/sdk/push-worker.js", timeout=60) as response:
            return response.read()

    def _handler(pages):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                is_worker = self.path == "/worker.js"
                self.send_response(200)
                self.send_header("Content-Type", "text/javascript" if is_worker else "text/html")
                self.end_headers()
                self.wfile.write(pages._worker() if is_worker else b"<!doctype html>")

            def log_message(self, *_):
                pass

        return Handler
