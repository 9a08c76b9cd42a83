"""Xiaomi Mi Push."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from . import forms, keys
from .clock import Clock
from .faults import Fault
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import Service, retry_after
from .strict_json import loads
from .xiaomi_rules import RULES

_SEND = re.compile(r"/v([234])/message/regid")
_REVOKE = re.compile(r"/v([123])/message/regid/revoke")
_ENCODED = re.compile(r"(?:[A-Za-z0-9\-_.~*+!'()]|%[0-9A-Fa-f]{2})*")
_JOBKEY = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_-]{0,19}")
_WHOLE = re.compile(r"\d+")
_KNOWN_EXTRAS = frozenset(
    (
        "badge",
        "callback",
        "callback.param",
        "callback.type",
        "channel_description",
        "channel_id",
        "channel_name",
        "flow_control",
        "instant_notify",
        "intent_uri",
        "jobkey",
        "notify_effect",
        "notify_foreground",
        "only_send_once",
        "sound_uri",
        "template_id",
        "template_param",
        "ticker",
        "web_uri",
    )
)
_DEFAULT_CODES = {400: 10008, 401: 21301, 403: 21303, 429: 200002}


@dataclass
class XiaomiSettings:
    """The app's channels and templates, and limits that a test can set."""

    package_name: str = "com.example.scrollback"
    region: str = "china"
    channels: dict[str, str] = field(default_factory=lambda: {"100": "private", "200": "public"})
    """The class, private or public, of each channel id."""
    templates: dict[str, list[str]] = field(default_factory=lambda: {"P1": ["title", "text"]})
    """The names of each template's parameters."""
    channel_required: bool = True
    daily_quota: int = 0
    """The maximum number of messages a day. 0 means no limit."""
    requests_per_second: int = 0
    """The maximum number of requests a second. 0 means no limit."""


@dataclass
class Device:
    """One app on one device."""

    region: str
    dead: bool = False


def _refused(rule: str, code: int, detail: str = "") -> Refused:
    return Refused(rule, 200, str(code), detail or rule.replace("-", " "))


def _require(holds: Any, rule: str, code: int = 10017, detail: str = "") -> None:
    if not holds:
        raise _refused(rule, code, detail)


class Xiaomi(Service):
    """Checks messages by the rules of xiaomi.md."""

    rules = RULES
    settings_type = XiaomiSettings

    def __init__(self, settings: XiaomiSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._secret = keys.identifier(24)
        self._devices: dict[str, Device] = {}
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.requests_per_second, 1)
        self._day = Bucket(self.settings.daily_quota, 24 * 3600)

    def client_needs(self) -> dict[str, Any]:
        return {
            "appSecret": self._secret,
            "packageName": self.settings.package_name,
            "channels": self.settings.channels,
            "templates": self.settings.templates,
        }

    def kind(self, request: Request) -> str:
        return "revoke" if _REVOKE.fullmatch(request.path) else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        send, revoke = _SEND.fullmatch(request.path), _REVOKE.fullmatch(request.path)
        if request.method != "POST" or not (send or revoke):
            raise Refused("path-known", 404, "", f"{request.method} {request.path}")
        if self.settings.requests_per_second and not self._second.take(self.clock.now()):
            raise _refused("flow-control", 200002)
        form = forms.fields(request)
        if form is None:
            raise _refused("form", 10008)
        _require(request.headers.get("authorization") == f"key={self._secret}", "authorization", 21301)
        if revoke:
            return self._revoke(form, revoke.group(1))
        self._check_package(form, send.group(1))
        ids = [id for id in form.get("registration_id", "").split(",") if id]
        _require(ids, "registration-present", 10016)
        _require(len(ids) <= 1000, "registration-count")
        self._check_content(form)
        extras = {name.removeprefix("extra."): value for name, value in form.items() if name.startswith("extra.")}
        self._check_extras(extras)
        self._check_channel(extras)
        if self.settings.daily_quota and not self._day.take(self.clock.now(), len(ids)):
            quota = self.settings.daily_quota
            raise _refused("daily-quota", 200001, f"exceed quota, quota: {quota}, have acked: {quota}")
        return self._deliver(request, form, ids)

    def _check_package(self, form: dict[str, str], version: str) -> None:
        packages = form.get("restricted_package_name", "")
        _require(packages, "package-present", 10016)
        _require(version != "2" or "," not in packages, "one-package")
        _require(self.settings.package_name in packages.split(","), "package-known", 22022, packages)

    @staticmethod
    def _check_content(form: dict[str, str]) -> None:
        passes_through = form.get("pass_through", "0")
        _require(passes_through in ("0", "1"), "pass-through", detail=passes_through)
        title, description = form.get("title", ""), form.get("description", "")
        if passes_through == "0":
            _require(title.strip() and description.strip(), "title-and-description", 10016)
        _require(len(title) < 50, "title-length", detail=f"{len(title)} characters")
        _require(len(description) < 128, "description-length", detail=f"{len(description)} characters")
        _require(form.get("notify_type", "-1") in ("-1", *"01234567"), "notify-type")
        _require(_whole(form.get("notify_id", "0"), 2**31 - 1), "notify-id")
        _require(_WHOLE.fullmatch(form.get("time_to_live", "0")), "time-to-live")
        payload = form.get("payload", "")
        _require(_ENCODED.fullmatch(payload), "payload-encoded")
        _require(len(unquote(payload)) <= 4096, "payload-size", 65009)

    @staticmethod
    def _check_extras(extras: dict[str, str]) -> None:
        own = {name: value for name, value in extras.items() if name not in _KNOWN_EXTRAS}
        _require(len(own) <= 10, "extra-count", 65014)
        _require(all(len(name) <= 1024 and len(value) <= 1024 for name, value in own.items()), "extra-size", 65015)
        effect = extras.get("notify_effect", "1")
        needed = {"1": None, "2": "intent_uri", "3": "web_uri"}
        _require(effect in needed and (needed[effect] is None or extras.get(needed[effect])), "notify-effect")
        callback = extras.get("callback", "https://example.com")
        _require(urlsplit(callback).scheme in ("http", "https") and urlsplit(callback).hostname, "callback", 65038)
        _require(len(extras.get("callback.param", "").encode()) <= 256, "callback-parameter", 65036)
        _require(_JOBKEY.fullmatch(extras.get("jobkey", "a")), "jobkey")

    def _check_channel(self, extras: dict[str, str]) -> None:
        channel = extras.get("channel_id")
        if channel is None:
            _require(not self.settings.channel_required, "channel-present", 27001, "invalid channel info!")
            return
        _require(channel in self.settings.channels, "channel-known", 27001, "invalid channel info!")
        if self.settings.channels[channel] != "private":
            return
        names = self.settings.templates.get(extras.get("template_id", ""))
        _require(names is not None and "template_param" in extras, "template-present")
        try:
            values = loads(extras["template_param"])
        except ValueError as error:
            raise _refused("template-parameters", 10017, str(error)) from error
        _require(isinstance(values, dict) and set(values) == set(names), "template-parameters")
        _require(all(_is_template_text(value) for value in values.values()), "template-parameters")

    def _deliver(self, request: Request, form: dict[str, str], ids: list[str]) -> Response:
        id = f"s{secrets.token_hex(3)}{self.clock.milliseconds()}"
        shown = {name: value for name, value in form.items() if name != "registration_id"}
        if "payload" in shown:
            shown["payload"] = unquote(shown["payload"])
        bad = []
        for token in ids:
            if rule := self._fault_of(token):
                bad.append(token)
                self.record.refuse(Refused(rule, 200, "20301", token, token=token), request)
            else:
                self.record.take(token, request.shown_headers(), shown, id)
        if len(bad) == len(ids):
            return _answer(20301, "sending failed")
        data = {"id": id, **({"bad_regids": ",".join(bad)} if bad else {})}
        return _answer(0, "", data)

    def _fault_of(self, token: str) -> str | None:
        """Returns the rule that prevents a send to a registration ID, if any."""
        device = self._devices.get(token)
        if device is None:
            return "token-issued"
        if device.region != self.settings.region:
            return "token-region"
        return "device-unregistered" if device.dead else None

    def _revoke(self, form: dict[str, str], version: str) -> Response:
        if version != "3":
            raise Refused("revoke-version", 404, "", f"v{version}")
        ids = [id for id in form.get("registration_ids", "").split(",") if id]
        whole = ids and form.get("restricted_package_name") == self.settings.package_name
        _require(whole and _whole(form.get("notify_id", ""), 2**31 - 1), "revoke-parameters", 10016)
        for token in ids:
            self.record.revoke(token, int(form["notify_id"]))
        return _answer(0, "", {})

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if not refused.reason:
            return Response(refused.status)
        return _answer(int(refused.reason), refused.detail)

    def fault(self, fault: Fault, request: Request) -> Response:
        if fault.status >= 500 and fault.reason is None:
            return Response(fault.status, retry_after(fault))
        code = int(fault.reason) if fault.reason else _DEFAULT_CODES.get(fault.status, 10001)
        answer = _answer(code, "ordered by the test")
        answer.status = fault.status
        answer.headers += retry_after(fault)
        return answer

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, region (default: the host's region)."""
        region = order.get("region", self.settings.region)
        made = [secrets.token_urlsafe(48) for _ in range(order.get("count", 1))]
        self._devices.update((token, Device(region)) for token in made)
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            self._devices[token].dead = True
        return len(order["tokens"])

    def reset(self) -> None:
        self._start_counting()


def _whole(text: str, largest: int) -> bool:
    return bool(_WHOLE.fullmatch(text)) and int(text) <= largest


def _is_template_text(value: Any) -> bool:
    """Returns whether a template parameter has 1 to 128 characters, is not blank, and has no symbols or unassigned
    characters."""
    if not isinstance(value, str) or not value.strip() or len(value) > 128:
        return False
    return all(unicodedata.category(character) not in ("So", "Cn") for character in value)


def _answer(code: int, reason: str, data: dict[str, Any] | None = None) -> Response:
    body: dict[str, Any] = {"result": "error" if code else "ok", "code": code, "trace_id": secrets.token_hex(12)}
    if code:
        body["reason"] = body["description"] = reason
    else:
        body |= {"description": "成功", "info": "Received push messages for 1 REGID", "data": data}
    return Response.json(200, body)
