"""vivo Push."""

from __future__ import annotations

import datetime
import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import keys, vivo_message
from .clock import Clock
from .faults import Fault
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import Service, retry_after
from .strict_json import loads
from .vivo_message import refused, require, whole
from .vivo_rules import RULES

AUTH_PATH = "/message/auth"
SEND_PATH = "/message/send"

_TIMESTAMP_TOLERANCE = 600_000
_CHINA = datetime.timezone(datetime.timedelta(hours=8))
_DEFAULT_CODES = {401: 10000, 403: 10000, 429: 10072}


@dataclass
class VivoSettings:
    """Durations in seconds, limits and lists that a test can set."""

    auth_token_seconds: float = 24 * 3600
    reg_id_length: int = 23
    longest_time_to_live: int = 604_800
    categories: dict[str, int] = field(default_factory=dict)
    """The classification of each category. An empty map accepts any category."""
    refuse_test_texts: bool = False
    night_hours: bool = False
    daily_quota: int = 0
    requests_per_second: int = 0


@dataclass
class Device:
    """One app on one device."""

    is_test: bool
    dead: bool = False


class Vivo(Service):
    """Checks messages by the rules of vivo.md."""

    rules = RULES
    settings_type = VivoSettings

    def __init__(self, settings: VivoSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._app_id = int(keys.identifier(6, "123456789"))
        self._app_key, self._secret = secrets.token_hex(16), secrets.token_hex(16)
        self._tokens: dict[str, float] = {}
        self._devices: dict[str, Device] = {}
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.requests_per_second, 1)
        self._day = Bucket(self.settings.daily_quota, 24 * 3600)
        self._signs = Bucket(10, 1)

    def client_needs(self) -> dict[str, Any]:
        return {"appID": self._app_id, "appKey": self._app_key, "appSecret": self._secret}

    def kind(self, request: Request) -> str:
        return "token" if request.path == AUTH_PATH else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        if request.method != "POST" or request.path not in (AUTH_PATH, SEND_PATH):
            raise Refused("path-known", 404, "", f"{request.method} {request.path}")
        body = self._read(request)
        if request.path == AUTH_PATH:
            return self._authorize(body)
        self._check_token(request)
        require(whole(body.get("appId", self._app_id)) == self._app_id, "app-id", 10094)
        vivo_message.check(body, self.settings.longest_time_to_live, self.settings.reg_id_length)
        vivo_message.check_category(body, self.settings.categories)
        self._check_pace(body)
        return self._deliver(request, body)

    @staticmethod
    def _read(request: Request) -> dict[str, Any]:
        if request.media_type() != "application/json":
            raise Refused("content-type", 400, "", request.media_type())
        try:
            body = loads(request.body)
        except ValueError as error:
            raise Refused("json-form", 400, "", str(error)) from error
        if not isinstance(body, dict):
            raise Refused("json-form", 400, "", "not an object")
        return body

    def _authorize(self, body: dict[str, Any]) -> Response:
        require(self._signs.take(self.clock.now()), "sign-rate", 10093)
        app_id, app_key, timestamp = (body.get(name) for name in ("appId", "appKey", "timestamp"))
        require(app_id is not None, "sign-app-id-present", 10200)
        require(whole(app_id) == self._app_id, "sign-app-id-known", 10205)
        require(app_key, "sign-app-key-present", 10201)
        require(app_key == self._app_key, "sign-app-key-known", 10202)
        require(timestamp is not None, "sign-timestamp-present", 10203)
        moment = whole(timestamp)
        near = moment is not None and abs(self.clock.milliseconds() - moment) <= _TIMESTAMP_TOLERANCE
        require(near, "sign-timestamp", 10207)
        require(body.get("sign"), "sign-present", 10204)
        signed = f"{self._app_id}{self._app_key}{moment}{self._secret}"
        require(body["sign"] == hashlib.md5(signed.encode()).hexdigest(), "sign-value", 10206)
        token = secrets.token_hex(18)
        self._tokens[token] = self.clock.now() + self.settings.auth_token_seconds
        self.record.tokens_issued += 1
        return Response.json(200, {"result": 0, "desc": "请求成功", "authToken": token})

    def _check_token(self, request: Request) -> None:
        token = request.headers.get("authtoken", "")
        require(token, "auth-token-present", 10000)
        require(token in self._tokens, "auth-token-issued", 10000)
        require(self.clock.now() < self._tokens[token], "auth-token-age", 10000)

    def _check_pace(self, body: dict[str, Any]) -> None:
        now = self.clock.now()
        is_system = whole(body.get("classification", 0)) == 1
        hour = datetime.datetime.fromtimestamp(now, _CHINA).hour
        require(is_system or not self.settings.night_hours or 7 <= hour < 23, "night-hours", 10071)
        is_real = whole(body.get("pushMode", 0)) == 0
        test_like = self.settings.refuse_test_texts and is_real and vivo_message.looks_like_test(body)
        require(not test_like, "test-text", 10104)
        if self.settings.requests_per_second:
            require(self._second.take(now), "flow-control", 10072)
        if self.settings.daily_quota:
            require(self._day.take(now), "daily-quota", 10073 if is_system else 10070)

    def _deliver(self, request: Request, body: dict[str, Any]) -> Response:
        id = secrets.token_hex(12)
        token = body.get("regId") or body["alias"]
        if "regId" in body:
            device = self._devices.get(token)
            if device is None:
                raise refused("registration-issued", 10302, token)
            if device.dead:
                return self._invalid(request, "device-unregistered", token, 10302, 2)
            if whole(body.get("pushMode", 0)) == 1 and not device.is_test:
                return self._invalid(request, "device-not-test", token, 0, 4)
        self.record.take(token, _without_token(request), body, id)
        return Response.json(200, {"result": 0, "desc": "请求成功", "taskId": id})

    def _invalid(self, request: Request, rule: str, token: str, code: int, status: int) -> Response:
        """Returns a response that names the device as unreachable."""
        self.record.refuse(Refused(rule, 200, str(code), token, token=token), request)
        invalid = {"status": status, "userid": token}
        return Response.json(200, {"result": code, "desc": "regId不合法", "taskId": "", "invalidUser": invalid})

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if not refused.reason:
            return Response(refused.status)
        return Response.json(200, {"result": int(refused.reason), "desc": refused.detail})

    def fault(self, fault: Fault, request: Request) -> Response:
        code = int(fault.reason) if fault.reason else _DEFAULT_CODES.get(fault.status)
        if code is None:
            return Response(fault.status, retry_after(fault))
        return Response.json(fault.status, {"result": code, "desc": "ordered by the test"}, retry_after(fault))

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, test (whether the devices belong to test users)."""
        made = [keys.identifier(self.settings.reg_id_length, "0123456789") for _ in range(order.get("count", 1))]
        self._devices.update((token, Device(order.get("test", False))) for token in made)
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            self._devices[token].dead = True
        return len(order["tokens"])

    def reset(self) -> None:
        self._start_counting()


def _without_token(request: Request) -> dict[str, str]:
    return {name: value for name, value in request.shown_headers().items() if name != "authtoken"}
