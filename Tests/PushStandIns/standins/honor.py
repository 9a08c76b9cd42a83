"""Honor Push."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import honor_message, keys
from .client_credentials import ClientCredentials
from .clock import Clock
from .faults import Fault
from .honor_message import refused
from .honor_rules import RULES
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import ControlRoute, Service, retry_after
from .strict_json import loads

TOKEN_PATH = "/auth/realms/developer/protocol/openid-connect/token"
NEWER_TOKEN_PATH = "/auth/token"

_PATH = re.compile(r"/api/v1/([^/]+)/sendMessage")
_TIMESTAMP_TOLERANCE = 600_000


@dataclass
class HonorSettings:
    """Durations in seconds, limits and rights that a test can set."""

    access_token_seconds: float = 3600
    service_right: bool = True
    """Whether the app may send with importance NORMAL."""
    requests_per_second: int = 0
    """The maximum number of requests a second. 0 means no limit."""
    test_messages_a_day: int = 1000


@dataclass
class App:
    """A registered app."""

    id: str
    client: str


class Honor(Service):
    """Checks messages by the rules of honor.md."""

    rules = RULES
    settings_type = HonorSettings

    def __init__(self, settings: HonorSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._oauth = ClientCredentials(clock, record, settings.access_token_seconds, _oauth_error)
        self._apps: dict[str, App] = {}
        self._app = self._make_app()
        self._devices: dict[str, bool] = {}
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.requests_per_second, 1)
        self._tests = Bucket(self.settings.test_messages_a_day, 24 * 3600)

    def _make_app(self) -> App:
        app = App(keys.identifier(9, "123456789"), secrets.token_hex(16))
        self._apps[app.id] = app
        return app

    def _described(self, app: App) -> dict[str, str]:
        return {"appID": app.id, "clientID": app.client, "clientSecret": self._oauth.register(app.client)}

    def client_needs(self) -> dict[str, Any]:
        return {**self._described(self._app), "tokenEndpoint": self.endpoint + TOKEN_PATH}

    def kind(self, request: Request) -> str:
        return "token" if request.path in (TOKEN_PATH, NEWER_TOKEN_PATH) else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        if self.kind(request) == "token":
            return self._oauth.answer(request)
        found = _PATH.fullmatch(request.path)
        if found is None or request.method != "POST":
            raise refused("path-known", 404, f"{request.method} {request.path}")
        now = self.clock.now()
        if self.settings.requests_per_second and not self._second.take(now):
            raise refused("flow-control", 503)
        self._check_credentials(request, found.group(1))
        self._check_timestamp(request)
        body = self._read(request)
        honor_message.check(body, request.body, self.settings.service_right)
        if body.get("android", {}).get("targetUserType") == 1 and not self._tests.take(now):
            raise refused("test-messages", 80200047)
        return self._deliver(request, body)

    def _check_credentials(self, request: Request, id: str) -> None:
        authorization = request.headers.get("authorization")
        if not authorization:
            raise refused("authorization-present", 403)
        if not re.fullmatch(r"Bearer \S+", authorization):
            raise refused("authorization-bearer", 403)
        token = self._oauth.find(authorization.removeprefix("Bearer "))
        if token is None:
            raise refused("access-token-issued", 403)
        if self.clock.now() >= token.expires_at:
            raise refused("access-token-age", 403)
        if id not in self._apps:
            raise refused("app-known", 10205, id)
        if self._apps[id].client != token.client:
            raise refused("access-token-client", 403)

    def _check_timestamp(self, request: Request) -> None:
        timestamp = request.headers.get("timestamp")
        if not timestamp:
            raise refused("timestamp-present", 10001)
        formed = re.fullmatch(r"\d{13}", timestamp)
        if not formed or abs(int(timestamp) - self.clock.milliseconds()) > _TIMESTAMP_TOLERANCE:
            raise refused("timestamp-form", 10207, timestamp)

    @staticmethod
    def _read(request: Request) -> dict[str, Any]:
        if request.media_type() != "application/json":
            raise refused("content-type", 400, request.media_type())
        try:
            body = loads(request.body)
        except ValueError as error:
            raise refused("json-form", 400, str(error)) from error
        if not isinstance(body, dict):
            raise refused("json-form", 400, "not an object")
        return body

    def _deliver(self, request: Request, body: dict[str, Any]) -> Response:
        id = f"{self.clock.milliseconds()}{secrets.token_hex(8)}"
        shown = {name: value for name, value in body.items() if name != "token"}
        failed, expired = [], []
        for token in body["token"]:
            if self._devices.get(token, False):
                self.record.take(token, request.shown_headers(), shown, id)
                continue
            rule = "device-unregistered" if token in self._devices else "token-issued"
            self.record.refuse(Refused(rule, 200, "failTokens", token, token=token), request)
            failed.append(token)
            if token in self._devices:
                expired.append(token)
        if not failed:
            return _answer(200, "success", id)
        if len(failed) == len(body["token"]):
            return _answer(80300007, "all tokens are invalid", id, failed, expired, sent=False)
        return _answer(80100000, "some tokens failed", id, failed, expired)

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if "oauth" in refused.extra:
            return Response.json(refused.status, refused.extra["oauth"])
        answer = _answer(int(refused.reason), refused.detail, secrets.token_hex(16), sent=False)
        answer.status = refused.status
        return answer

    def fault(self, fault: Fault, request: Request) -> Response:
        if self.kind(request) == "token":
            return Response.json(fault.status, _oauth_error("ordered by the test"), retry_after(fault))
        code = int(fault.reason) if fault.reason else fault.status
        body = {"code": code, "message": "ordered by the test"}
        return Response.json(fault.status, body, retry_after(fault))

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count."""
        made = [secrets.token_urlsafe(96) for _ in range(order.get("count", 1))]
        self._devices.update(dict.fromkeys(made, True))
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            if token not in self._devices:
                raise LookupError(token)
            self._devices[token] = False
        return len(order["tokens"])

    def control_routes(self) -> dict[str, ControlRoute]:
        return {"/apps": lambda order: self._described(self._make_app())}

    def reset(self) -> None:
        self._start_counting()


def _oauth_error(description: str) -> dict[str, Any]:
    return {"error": "unauthorized_client", "error_description": description}


def _answer(
    code: int,
    message: str,
    id: str,
    failed: list[str] | None = None,
    expired: list[str] | None = None,
    sent: bool = True,
) -> Response:
    data = {"sendResult": sent, "requestId": id, "failTokens": failed or [], "expireTokens": expired or []}
    return Response.json(200, {"code": code, "message": message, "data": data})
