"""OPPO Push."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import forms, oppo_message
from .clock import Clock
from .faults import Fault
from .message import Request, Response
from .oppo_message import refused, require
from .oppo_rules import RULES
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import Service, retry_after
from .strict_json import loads

AUTH_PATH = "/server/v1/auth"
UNICAST_PATH = "/server/v1/message/notification/unicast"
BATCH_PATH = "/server/v1/message/notification/unicast_batch"

_TIMESTAMP_TOLERANCE = 600_000
_DEFAULT_CODES = {401: 11, 403: 27, 429: 13, 503: -1}


@dataclass
class OppoSettings:
    """Durations in seconds, limits and lists that a test can set."""

    auth_token_seconds: float = 24 * 3600
    overseas: bool = False
    categories: list[str] = field(default_factory=list)
    """The accepted categories. An empty list accepts any."""
    private_templates: list[str] = field(default_factory=list)
    """The app's template IDs. An empty list means that the app uses none."""
    daily_limit: int = 0
    requests_per_second: int = 0


@dataclass
class Device:
    """One app on one device."""

    overseas: bool
    dead: bool = False


class Oppo(Service):
    """Checks messages by the rules of oppo.md."""

    rules = RULES
    settings_type = OppoSettings

    def __init__(self, settings: OppoSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._app_key, self._master_secret = secrets.token_hex(16), secrets.token_hex(16)
        self._tokens: dict[str, float] = {}
        self._devices: dict[str, Device] = {}
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.requests_per_second, 1)
        self._day = Bucket(self.settings.daily_limit, 24 * 3600)

    def client_needs(self) -> dict[str, Any]:
        return {"appKey": self._app_key, "masterSecret": self._master_secret}

    def kind(self, request: Request) -> str:
        return "token" if request.path == AUTH_PATH else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        if request.path not in (AUTH_PATH, UNICAST_PATH, BATCH_PATH):
            raise refused("path-known", 20, request.path)
        if request.method != "POST":
            raise refused("method-post", 12, request.method)
        form = forms.fields(request)
        if form is None:
            raise refused("form", 25)
        if request.path == AUTH_PATH:
            return self._authorize(form)
        self._check_token(form)
        if self.settings.requests_per_second and not self._second.take(self.clock.now()):
            raise refused("flow-control", 13)
        if request.path == UNICAST_PATH:
            message = self._read(form, "message", dict)
            return _answer(0, "Success", {"messageId": self._send(request, message)})
        return self._send_batch(request, self._read(form, "messages", list))

    def _authorize(self, form: dict[str, str]) -> Response:
        app_key, sign, timestamp = (form.get(name, "") for name in ("app_key", "sign", "timestamp"))
        require(app_key, "sign-app-key-present", 15)
        require(app_key == self._app_key, "sign-app-key-known", 14)
        require(timestamp, "sign-timestamp-present", 18)
        recent = re.fullmatch(r"\d{13}", timestamp) and (
            abs(self.clock.milliseconds() - int(timestamp)) <= _TIMESTAMP_TOLERANCE
        )
        require(recent, "sign-timestamp", 19)
        require(sign, "sign-present", 17)
        expected = hashlib.sha256((app_key + timestamp + self._master_secret).encode()).hexdigest()
        require(sign == expected, "sign-value", 16)
        token = secrets.token_hex(18)
        self._tokens[token] = self.clock.now() + self.settings.auth_token_seconds
        self.record.tokens_issued += 1
        return _answer(0, "success", {"auth_token": token, "create_time": self.clock.milliseconds()})

    def _check_token(self, form: dict[str, str]) -> None:
        token = form.get("auth_token", "")
        require(token, "auth-token-present", 29)
        require(token in self._tokens, "auth-token-issued", 11)
        require(self.clock.now() < self._tokens[token], "auth-token-age", 11)

    @staticmethod
    def _read(form: dict[str, str], name: str, kind: type) -> Any:
        require(form.get(name), "message-present", 40)
        try:
            value = loads(form[name])
        except ValueError as error:
            raise refused("message-json", 41, str(error)) from error
        require(isinstance(value, kind), "message-json", 41)
        return value

    def _send(self, request: Request, message: Any) -> str:
        """Checks and records one message, and returns its ID."""
        message = oppo_message.check(message, self.settings.categories, self.settings.private_templates)
        token, id = message["target_value"], secrets.token_hex(12)
        if message["target_type"] == 2:
            self._check_device(token)
        if self.settings.daily_limit and not self._day.take(self.clock.now()):
            raise refused("daily-limit", 33)
        device = self._devices.get(token)
        if device is not None and device.dead:
            self.record.refuse(Refused("device-unregistered", 200, "0", token, token=token), request)
        else:
            self.record.take(token, request.shown_headers(), message, id)
        return id

    def _check_device(self, token: str) -> None:
        device = self._devices.get(token)
        require(device is not None, "token-issued", 10000)
        require(device.overseas == self.settings.overseas, "token-region", 10000)

    def _send_batch(self, request: Request, messages: list[Any]) -> Response:
        require(1 <= len(messages) <= 1000, "batch-count", 41)
        outcomes = []
        for message in messages:
            try:
                id = self._send(request, message)
                outcomes.append({"messageId": id, "registrationId": oppo_message.target(message)})
            except Refused as refusal:
                self.record.refuse(refusal, request)
                error = {"errorCode": int(refusal.reason), "errorMessage": refusal.detail}
                outcomes.append({"registrationId": oppo_message.target(message), **error})
        return _answer(0, "Success", outcomes)

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        return _answer(int(refused.reason), refused.detail)

    def fault(self, fault: Fault, request: Request) -> Response:
        code = int(fault.reason) if fault.reason else _DEFAULT_CODES.get(fault.status, -1)
        answer = _answer(code, "ordered by the test")
        answer.status = fault.status
        answer.headers += retry_after(fault)
        return answer

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, overseas (default: the region of the host)."""
        overseas = order.get("overseas", self.settings.overseas)
        prefix = "OPPO_SG_" if overseas else "OPPO_CN_"
        made = [prefix + secrets.token_hex(16) for _ in range(order.get("count", 1))]
        self._devices.update((token, Device(overseas)) for token in made)
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            self._devices[token].dead = True
        return len(order["tokens"])

    def reset(self) -> None:
        self._start_counting()


def _answer(code: int, message: str, data: Any = None) -> Response:
    return Response.json(200, {"code": code, "message": message, "data": {} if data is None else data})
