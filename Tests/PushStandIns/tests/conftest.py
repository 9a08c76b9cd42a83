"""Fixtures that start stand-ins, one process for each service and configuration."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from standins.rules import RuleTable

SHARED = ("tls-only", "malformed-http1", "malformed-http2", "stream-limit", "stream-before-settings")
"""The rules that test_server.py tests, for every service that has them."""

ROOT = Path(__file__).resolve().parent.parent


class StandIn:
    """A running stand-in and its control connection."""

    def __init__(self, service: str, directory: Path, settings: dict[str, Any]) -> None:
        config = directory / "config.json"
        config.write_text(json.dumps(settings))
        command = [sys.executable, "-m", "standins", "serve", service]
        command += ["--config", str(config), "--directory", str(directory)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.endpoint: str = self.ready["endpoint"]
        self._contexts = {False: self._context(), True: self._context()}
        self._clients: list[httpx.Client] = []
        self._control = httpx.Client(base_url=self.ready["control"])

    def stop(self) -> None:
        self.start_afresh()
        self._control.close()
        self.process.stdin.close()
        self.process.wait(5)

    def client(self, http2: bool = False) -> httpx.Client:
        """Returns a new client of the service."""
        context = self._contexts[http2]
        client = httpx.Client(base_url=self.endpoint, verify=context, http2=http2, http1=not http2, timeout=10)
        self._clients.append(client)
        return client

    def start_afresh(self) -> None:
        """Clears the state of earlier tests."""
        for client in self._clients:
            client.close()
        self._clients.clear()
        self.post("/reset")

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ready["authority"])

    def post(self, path: str, order: dict[str, Any] | None = None) -> Any:
        answer = self._control.post(path, json=order or {})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self._control.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def device(self, **order: Any) -> Any:
        return self.post("/devices", {"count": 1, **order})["tokens"][0]

    def received(self) -> list[dict[str, Any]]:
        return self.get("/received?after=0")["notifications"]

    def broken(self) -> list[str]:
        """Returns the names of the rules violated since the last reset."""
        return [entry["rule"] for entry in self.get("/refused")]

    def noticed(self) -> list[str]:
        return [entry["rule"] for entry in self.get("/noticed")]

    def undelivered(self) -> list[str]:
        return [entry["rule"] for entry in self.get("/undelivered")]


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., StandIn]]:
    """A function that starts a stand-in, or returns the running one."""
    running: dict[str, StandIn] = {}

    def start(service: str, **settings: Any) -> StandIn:
        key = service + json.dumps(settings, sort_keys=True)
        if key not in running:
            running[key] = StandIn(service, tmp_path_factory.mktemp(service), settings)
        running[key].start_afresh()
        return running[key]

    yield start
    for standin in running.values():
        standin.stop()


def untested(rules: RuleTable, test_file: str) -> list[str]:
    """Returns the rules that a test file does not name, except those of test_server.py."""
    text = Path(test_file).read_text()
    return [rule.name for rule in rules if f'"{rule.name}"' not in text and rule.name not in SHARED]
