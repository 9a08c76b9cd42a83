"""The built program `scrollback serve` with a data directory of its own."""

import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import uuid

from harness.waiting import eventually

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("SCROLLBACK_BINARY", str(ROOT / ".build/debug/scrollback"))


# The ports of this process, so that no other process of tests takes one of a server that restarts.
FIRST_PORT = 10_000 + 2_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def free_port():
    """A port below the ephemeral range, which a connection of another test can't take while the server restarts."""
    while True:
        port = random.randrange(FIRST_PORT, FIRST_PORT + 2_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Server:
    def __init__(self, folder, *arguments, environment=None):
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self.arguments = arguments
        self.environment = {**os.environ, **(environment or {})}
        self.process = None
        self.starts = 0
        self.start()
        self.admin = (self.folder / "data/admin.key").read_text().strip()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.starts += 1
        output = self.folder / f"server-{self.starts}.out"
        self.log = errors = self.folder / f"server-{self.starts}.err"
        # A busy machine must not stop searches.
        unlimited = [f"--{kind}-rate=0" for kind in ("send", "write", "read", "lookup", "search")]
        unlimited.append("--search-seconds=3600")
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", str(self.port), "--data", str(self.folder / "data"), *unlimited]
            + list(self.arguments),
            stdout=output.open("w"),
            stderr=errors.open("w"),
            env=self.environment,
        )

        def listening():
            if self.process.poll() is not None:
                raise AssertionError(f"The server ended: {errors.read_text()}")
            return "listening on" in output.read_text()

        eventually("the server listens", listening)

    def kill(self):
        """Ends the server without a chance to finish anything."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=60) == 0

    def report(self):
        """Whether the server runs, and the end of its log."""
        code = self.process.poll()
        state = "runs" if code is None else f"ended with {code}"
        return f"The server on port {self.port} {state}. Its log ends with:\n{self.log.read_text()[-4000:]}"

    def close(self):
        if self.process.poll() is None:
            self.kill()

    # HTTP

    def call(self, method, path, body=None, token=None):
        """Returns the status and the answer of a request, by default with the administrator's token."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {token or self.admin}")
        data = None
        if body is not None:
            request.add_header("Content-Type", "application/json")
            data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=60) as response:
                return response.status, json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def token(self, user, expires_in=86_400):
        status, answer = self.call("POST", "/v1/tokens", {"user": user, "expiresIn": expires_in})
        assert status == 200, answer
        return answer["token"]

    def group(self, name, *members):
        status, answer = self.call("PUT", f"/v1/conversations/group:{name}", {"members": list(members)})
        assert status in (200, 201), answer

    def send(self, user, conversation, text, token=None, **attributes):
        body = {"id": str(uuid.uuid4()), "type": "text", "content": {"text": text}, **attributes}
        path = f"/v1/conversations/{urllib.parse.quote(conversation, safe=':')}/messages"
        status, answer = self.call("POST", path, body, token or self.token(user))
        assert status == 201, answer
        return answer

    def history(self, user, conversation):
        """All messages of a conversation that a user sees, oldest first."""
        token = self.token(user)
        base = f"/v1/conversations/{urllib.parse.quote(conversation, safe=':')}/messages?"
        query, messages = "after=earliest&limit=100&sort=oldestFirst", []
        while True:
            status, page = self.call("GET", base + query, token=token)
            assert status == 200, page
            messages += page["messages"]
            if "newer" not in page:
                return messages
            query = "limit=100&cursor=" + urllib.parse.quote(page["newer"])

    def wait_for_index(self, user, text):
        """Waits until a search finds all messages. The page shows what its first search finds."""
        path = f"/v1/search?text={urllib.parse.quote(text)}"

        def is_complete():
            status, answer = self.call("GET", path, token=self.token(user))
            assert status == 200, answer
            return "indexing" not in answer

        eventually("the index is complete", is_complete)

    def head(self, user, conversation):
        path = f"/v1/conversations/{urllib.parse.quote(conversation, safe=':')}"
        return self.call("GET", path, token=self.token(user))[1]
