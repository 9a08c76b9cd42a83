"""HarmonyOS Push Kit, v3."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from . import harmonyos_message, keys
from .clock import Clock
from .faults import Fault
from .harmonyos_message import LARGEST, REVOCATION, refused, status_of
from .harmonyos_rules import RULES
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import ControlRoute, Service, retry_after
from .shapes import bytes_without, integer, is_within
from .strict_json import loads

AUDIENCE = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
PUSH_TYPES = ("0", "1", "2", "6", "7", "10")

_SEND = re.compile(r"/v3/([^/]+)/messages:send")
_REVOKE = re.compile(r"/v1/([^/]+)/messages:revoke")
_ONE_DAY = 86400
_TEXTS = {
    "80000000": "Success.",
    "80100000": "Check Parameter Partial Success.",
    "80100001": "Check Parameter Error.",
    "80100003": "Illegal payload",
    "80200001": "Authentication Error.",
    "80200005": "Jwt token expired.",
    "80300002": "No permission to send message to these tmIDs.",
    "80300007": "All the tokens are invalid.",
    "80300008": "Push message size is too long.",
    "80300010": "token count should within {0} and {1}.",
    "80300017": "The tokens are of several apps.",
    "80300028": "A token is not of this client id.",
    "80300029": "When send test message, the api request exceed limit.",
    "80300030": "When send test message, token count exceed limit.",
    "80300032": "No right; give both token and notifyId.",
    "80300036": "JWT expire period over threshold.",
    "81000001": "Inner Error.",
}
_CODES = {400: "80100001", 401: "80200001", 500: "81000001"}
"""The code for an injected status. Other statuses have no body."""


@dataclass
class HarmonyOSSettings:
    """Limits and rights that a test can set."""

    rights: list[str] = field(default_factory=lambda: list(PUSH_TYPES))
    """The push-types that the app may send."""
    test_messages_a_day: int = 1000
    devices_per_second: int = 0
    """The maximum number of devices a second. 0 means no limit."""


@dataclass
class App:
    """An app, its project and the project's service account."""

    client: str
    project: str
    account: str
    key_id: str
    key: rsa.RSAPrivateKey
    file: str

    def described(self) -> dict[str, str]:
        return {"serviceAccountFile": self.file, "projectID": self.project, "clientID": self.client}


@dataclass
class Device:
    """One app on one device."""

    app: App
    unreachable: str | None = None
    """The reason in illegalTokens, or None while the device is reachable."""


class HarmonyOS(Service):
    """Checks messages by the rules of harmonyos.md."""

    rules = RULES
    settings_type = HarmonyOSSettings

    def __init__(self, settings: HarmonyOSSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._apps: dict[str, App] = {}
        self._app = self._make_app()
        self._devices: dict[str, Device] = {}
        self._signed: dict[str, tuple[App, dict[str, Any]]] = {}
        self._start_counting()

    def _start_counting(self) -> None:
        self._second = Bucket(self.settings.devices_per_second, 1)
        self._tests = Bucket(self.settings.test_messages_a_day, 24 * 3600)

    def _make_app(self) -> App:
        project, key, key_id = keys.identifier(18, "123456789"), keys.rsa_key(), secrets.token_hex(16)
        account = {
            "project_id": project,
            "key_id": key_id,
            "private_key": keys.pem(key),
            "sub_account": keys.identifier(9, "123456789"),
            "auth_uri": "https://oauth-login.cloud.huawei.com/oauth2/v3/authorize",
            "token_uri": AUDIENCE,
        }
        file = keys.write_private(self.directory / f"service-account-{project}.json", json.dumps(account, indent=2))
        app = App(keys.identifier(9, "123456789"), project, account["sub_account"], key_id, key, file)
        self._apps[app.client] = self._apps[app.project] = app
        return app

    def client_needs(self) -> dict[str, Any]:
        return self._app.described()

    def kind(self, request: Request) -> str:
        return "revoke" if _REVOKE.fullmatch(request.path) else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        send, revoke = _SEND.fullmatch(request.path), _REVOKE.fullmatch(request.path)
        if request.method != "POST" or not (send or revoke):
            raise Refused("path-known", 404, "", f"{request.method} {request.path}")
        app = self._check_credentials(request)
        if revoke:
            return self._revoke(request, app, revoke.group(1))
        if send.group(1) != app.project:
            raise refused("token-project", "80200001", "the path names another project")
        push_type = request.headers.get("push-type", "")
        if push_type not in PUSH_TYPES:
            raise refused("push-type", detail="Illegal payload, The header does not contain valid push-type")
        body = self._read(request)
        harmonyos_message.check_types(body)
        tokens = body.get("target", {}).get("token", [])
        harmonyos_message.check(body, push_type, bytes_without(request.body, tokens))
        self._check_pace(len(tokens), body.get("pushOptions", {}).get("testMessage", False))
        return self._deliver(request, app, body, push_type)

    def _check_credentials(self, request: Request) -> App:
        authorization = request.headers.get("authorization")
        if not authorization:
            raise refused("authorization-present", "80200001")
        if not re.fullmatch(r"Bearer \S+", authorization):
            raise refused("authorization-bearer", "80200001")
        if authorization not in self._signed:
            self._signed[authorization] = self._check_signature(authorization.removeprefix("Bearer "))
            self.record.tokens_seen = len(self._signed)
        app, claims = self._signed[authorization]
        if claims["exp"] <= self.clock.now():
            raise refused("token-age", "80200005")
        return app

    def _check_signature(self, token: str) -> tuple[App, dict[str, Any]]:
        """Checks everything that does not depend on the time."""
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError as error:
            raise refused("token-readable", "80200001", str(error)) from error
        if header.get("alg") != "PS256":
            raise refused("token-algorithm", "80200001", f"alg is {header.get('alg')}")
        if header.get("typ") != "JWT":
            raise refused("token-type", "80200001", f"typ is {header.get('typ')}")
        app = next((app for app in self._apps.values() if app.key_id == header.get("kid")), None)
        if app is None:
            raise refused("token-key", "80200001", "kid names no key")
        try:
            claims = loads(jwt.PyJWS().decode(token, app.key.public_key(), algorithms=["PS256"]))
        except jwt.InvalidSignatureError as error:
            raise refused("token-signature", "80200001") from error
        except ValueError as error:
            raise refused("token-readable", "80200001", str(error)) from error
        self._check_claims(claims, app)
        return app, claims

    def _check_claims(self, claims: dict[str, Any], app: App) -> None:
        if claims.get("iss") != app.account:
            raise refused("token-issuer", "80200001", f"iss is {claims.get('iss')}")
        if claims.get("aud") != AUDIENCE:
            raise refused("token-audience", "80200001", f"aud is {claims.get('aud')}")
        issued_at, expires_at = claims.get("iat"), claims.get("exp")
        if not integer(issued_at) or not integer(expires_at) or expires_at <= issued_at:
            raise refused("token-times", "80200001", f"iat {issued_at}, exp {expires_at}")
        if expires_at - issued_at > _ONE_DAY:
            raise refused("token-lifetime", "80300036")
        if expires_at - issued_at != 3600:
            self.record.notice("token-hour", f"valid for {expires_at - issued_at} s")

    @staticmethod
    def _read(request: Request) -> dict[str, Any]:
        if request.media_type() != "application/json":
            raise refused("content-type", detail=request.media_type())
        try:
            body = loads(request.body)
        except ValueError as error:
            raise refused("json-form", detail=str(error)) from error
        if not isinstance(body, dict):
            raise refused("json-form", detail="not an object")
        return body

    def _check_pace(self, count: int, is_test: bool) -> None:
        now = self.clock.now()
        if self.settings.devices_per_second and not self._second.take(now, count):
            raise Refused("flow-control", 503, "")
        if is_test and not self._tests.take(now):
            raise refused("test-rate", "80300029")

    def _deliver(self, request: Request, app: App, body: dict[str, Any], push_type: str) -> Response:
        id = f"{self.clock.milliseconds()}_{secrets.token_hex(8)}"
        tokens = body["target"]["token"]
        if push_type not in self.settings.rights:
            self.record.refuse(refused("type-right", "80300007", push_type), request)
            return _answer("80300007", id, _outcome(0, {"noPushTypeRight": tokens}))
        illegal: dict[str, list[str]] = {}
        for token in tokens:
            if reason := self._fault_of(token, app, request):
                illegal.setdefault(reason, []).append(token)
            else:
                shown = {name: value for name, value in body.items() if name != "target"}
                self.record.take(token, request.shown_headers(), shown, id, pushType=int(push_type))
        good = len(tokens) - sum(map(len, illegal.values()))
        if not illegal:
            return _answer("80000000", id)
        return _answer("80100000" if good else "80300007", id, _outcome(good, illegal))

    def _fault_of(self, token: str, app: App, request: Request) -> str | None:
        """Records and returns the reason that a token can't get messages, if any."""
        device = self._devices.get(token)
        if device is None:
            rule, reason = "token-issued", "tokenFormatError"
        elif device.app is not app:
            rule, reason = "token-of-project", "noRight"
        elif device.unreachable:
            rule, reason = "device-unregistered", device.unreachable
        else:
            return None
        self.record.refuse(Refused(rule, 400, reason, token, token=token), request)
        return reason

    def _revoke(self, request: Request, app: App, client: str) -> Response:
        if request.headers.get("push-type") not in ("0", "2"):
            text = "Illegal payload, The header does not contain valid push-type"
            raise refused("revoke-push-type", detail=text)
        if client != app.client:
            raise refused("revoke-client", "80300002", client)
        body = self._read(request)
        harmonyos_message.check_types(body, REVOCATION)
        tokens = body.get("token", [])
        if not 1 <= len(tokens) <= 1000:
            raise refused("revoke-token-count", "80300010", f"{len(tokens)} tokens")
        if bytes_without(request.body, tokens) > 4096:
            raise refused("body-size", "80300008")
        if not is_within(body.get("notifyId"), 0, LARGEST):
            raise refused("revoke-notify-id", "80300032")
        clients = {device.app.client if (device := self._devices.get(token)) else "" for token in tokens}
        if len(clients) > 1:
            raise refused("revoke-one-app", "80300017")
        if clients != {client}:
            raise refused("revoke-token-app", "80300028")
        for token in tokens:
            self.record.revoke(token, body["notifyId"])
        return _answer("80000000", secrets.token_hex(16))

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if not refused.reason:
            return Response(refused.status)
        if "illegal" in refused.extra:
            tokens = loads(request.body)["target"]["token"]
            text = _outcome(0, {refused.extra["illegal"]: tokens})
        elif refused.reason == "80100003":
            text = refused.detail if refused.detail.startswith("Illegal") else f"Illegal payload, {refused.detail}."
        else:
            text = None
        return _answer(refused.reason, secrets.token_hex(16), text)

    def fault(self, fault: Fault, request: Request) -> Response:
        code = fault.reason or _CODES.get(fault.status)
        if code is None:
            return Response(fault.status, retry_after(fault))
        body = {"code": code, "msg": _TEXTS.get(code, "ordered by the test"), "requestId": secrets.token_hex(16)}
        return Response.json(fault.status, body, retry_after(fault))

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, app (a client ID; default: the stand-in's own app)."""
        app = self._apps[order["app"]] if "app" in order else self._app
        made = [f"MAMzLg{secrets.token_urlsafe(80)[:106]}" for _ in range(order.get("count", 1))]
        self._devices.update((token, Device(app)) for token in made)
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        """Body: tokens, reason (one of the reasons in illegalTokens; default: tokenFormatError)."""
        for token in order["tokens"]:
            self._devices[token].unreachable = order.get("reason", "tokenFormatError")
        return len(order["tokens"])

    def control_routes(self) -> dict[str, ControlRoute]:
        return {"/apps": lambda order: self._make_app().described()}

    def reset(self) -> None:
        self._start_counting()


def _outcome(good: int, illegal: dict[str, list[str]]) -> str:
    """Returns the msg of a partial or empty success, a string with JSON."""
    return json.dumps({"success": good, "failure": sum(map(len, illegal.values())), "illegalTokens": illegal})


def _answer(code: str, id: str, text: str | None = None) -> Response:
    return Response.json(status_of(code), {"code": code, "msg": text or _TEXTS[code], "requestId": id})
