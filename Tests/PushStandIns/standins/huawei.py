"""Huawei Push Kit, v1 and v2."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import huawei_message, keys
from .client_credentials import ClientCredentials
from .clock import Clock
from .faults import Fault
from .huawei_message import WRONG_PARAMETER, refused, status_of
from .huawei_rules import RULES
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import ControlRoute, Service, retry_after
from .shapes import bytes_without
from .strict_json import loads

TOKEN_PATH = "/oauth2/v3/token"

_PATH = re.compile(r"/(v1|v2)/([^/]+)/messages:send")
_TEXTS = {
    "80000000": "Success",
    "80100000": "Partial success",
    "80100001": "Some request parameters are incorrect",
    "80100003": "Illegal payload",
    "80100013": "Collapse_key is illegal",
    "80200001": "OAuth authentication error",
    "80200003": "OAuth token expired",
    "80300002": "The app does not have the permission to send push messages",
    "80300007": "All the tokens are invalid",
    "80300008": "The message body size exceeds the default value",
    "80300010": "The number of tokens in the message body exceeds the default value",
    "80300011": "No permission to send high-level notification messages",
    "81000001": "System inner error",
}
_CODES = {400: WRONG_PARAMETER, 401: "80200001", 500: "81000001"}
"""The code for an injected status. Other statuses have no body."""


@dataclass
class HuaweiSettings:
    """Durations in seconds and limits that a test can set."""

    access_token_seconds: float = 3600
    requests_per_second: int = 0
    """The maximum number of requests a second. 0 means no limit."""
    test_messages_a_day: int = 500


@dataclass
class App:
    """A registered app."""

    client: str
    project: str
    may_push: bool


class Huawei(Service):
    """Checks messages by the rules of huawei.md."""

    rules = RULES
    settings_type = HuaweiSettings

    def __init__(self, settings: HuaweiSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._oauth = ClientCredentials(clock, record, settings.access_token_seconds, _oauth_error)
        self._apps: dict[str, App] = {}
        self._app = self._make_app()
        self._devices: dict[str, App] = {}
        self._dead: set[str] = set()
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.requests_per_second, 1)
        self._tests = Bucket(self.settings.test_messages_a_day, 24 * 3600)

    def _make_app(self, may_push: bool = True) -> App:
        app = App(keys.identifier(9, "123456789"), keys.identifier(18, "123456789"), may_push)
        self._apps[app.client] = self._apps[app.project] = app
        return app

    def _described(self, app: App) -> dict[str, str]:
        secret = self._oauth.register(app.client)
        return {"clientID": app.client, "clientSecret": secret, "projectID": app.project}

    def client_needs(self) -> dict[str, Any]:
        return {**self._described(self._app), "tokenEndpoint": self.endpoint + TOKEN_PATH}

    def kind(self, request: Request) -> str:
        return "token" if request.path == TOKEN_PATH else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        if request.path == TOKEN_PATH:
            return self._oauth.answer(request)
        found = _PATH.fullmatch(request.path)
        if found is None or request.method != "POST":
            raise Refused("path-known", 404, "", f"{request.method} {request.path}")
        if self.settings.requests_per_second and not self._second.take(self.clock.now()):
            raise Refused("flow-control", 503, "")
        app = self._check_credentials(request, found.group(1), found.group(2))
        body = self._read(request)
        huawei_message.check_types(body)
        tokens = body.get("message", {}).get("token", [])
        message = huawei_message.check(body, bytes_without(request.body, tokens))
        if message.get("android", {}).get("target_user_type") == 1 and not self._tests.take(self.clock.now()):
            raise refused("test-messages", WRONG_PARAMETER)
        return self._deliver(request, app, message, body.get("validate_only", False))

    def _check_credentials(self, request: Request, version: str, id: str) -> App:
        authorization = request.headers.get("authorization")
        if not authorization:
            raise refused("authorization-present", "80200001")
        if not re.fullmatch(r"Bearer \S+", authorization):
            raise refused("authorization-bearer", "80200001")
        token = self._oauth.find(authorization.removeprefix("Bearer "))
        if token is None:
            raise refused("access-token-issued", "80200001")
        if self.clock.now() >= token.expires_at:
            raise refused("access-token-age", "80200003")
        app = self._apps.get(id)
        if app is None or id != (app.client if version == "v1" else app.project) or not app.may_push:
            raise refused("app-known", "80300002")
        if app.client != token.client:
            raise refused("access-token-client", "80200001")
        return app

    @staticmethod
    def _read(request: Request) -> dict[str, Any]:
        if request.media_type() != "application/json":
            raise refused("content-type", WRONG_PARAMETER, request.media_type())
        try:
            body = loads(request.body)
        except ValueError as error:
            raise refused("json-form", WRONG_PARAMETER, str(error)) from error
        if not isinstance(body, dict):
            raise refused("json-form", WRONG_PARAMETER, "not an object")
        return body

    def _deliver(self, request: Request, app: App, message: dict[str, Any], validate_only: bool) -> Response:
        id = f"{self.clock.milliseconds()}{secrets.token_hex(8)}"
        shown = {name: value for name, value in message.items() if name != "token"}
        tokens = message.get("token")
        if tokens is None:
            good, illegal = [message.get("topic") or message["condition"]], []
        else:
            good = [token for token in tokens if self._is_good(token, app)]
            illegal = [token for token in tokens if not self._is_good(token, app)]
        self._note_illegal(illegal, app, request, "80100000" if good else "80300007")
        if not validate_only:
            for token in good:
                self.record.take(token, request.shown_headers(), shown, id)
        if not good:
            return _answer("80300007", id)
        if illegal:
            outcome = {"success": len(good), "failure": len(illegal), "illegal_tokens": illegal}
            return _answer("80100000", id, json.dumps(outcome))
        return _answer("80000000", id)

    def _is_good(self, token: str, app: App) -> bool:
        return self._devices.get(token) is app and token not in self._dead

    def _note_illegal(self, tokens: list[str], app: App, request: Request, code: str) -> None:
        for token in tokens:
            known = self._devices.get(token) is app
            rule = "device-unregistered" if known else "token-issued"
            self.record.refuse(Refused(rule, status_of(code), code, token, token=token), request)

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if "oauth" in refused.extra:
            return Response.json(refused.status, refused.extra["oauth"])
        if not refused.reason:
            return Response(refused.status)
        return _answer(refused.reason, secrets.token_hex(16), f"{_TEXTS[refused.reason]}: {refused.detail}")

    def fault(self, fault: Fault, request: Request) -> Response:
        code = fault.reason or _CODES.get(fault.status)
        if self.kind(request) == "token":
            return Response.json(fault.status, _oauth_error("ordered by the test"), retry_after(fault))
        if code is None:
            return Response(fault.status, retry_after(fault))
        body = {"code": code, "msg": _TEXTS.get(code, "ordered by the test"), "requestId": secrets.token_hex(16)}
        return Response.json(fault.status, body, retry_after(fault))

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, app (a client ID; default: the stand-in's own app)."""
        app = self._apps[order["app"]] if "app" in order else self._app
        made = [f"IQAAAA{secrets.token_urlsafe(90)}" for _ in range(order.get("count", 1))]
        self._devices.update(dict.fromkeys(made, app))
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            if token not in self._devices:
                raise LookupError(token)
            self._dead.add(token)
        return len(order["tokens"])

    def control_routes(self) -> dict[str, ControlRoute]:
        return {"/apps": lambda order: self._described(self._make_app(order.get("mayPush", True)))}

    def reset(self) -> None:
        self._start_counting()


def _oauth_error(description: str) -> dict[str, Any]:
    return {"error": 1101, "sub_error": 20044, "error_description": description}


def _answer(code: str, id: str, text: str | None = None) -> Response:
    return Response.json(status_of(code), {"code": code, "msg": text or _TEXTS[code], "requestId": id})
