"""Firebase Cloud Messaging, HTTP v1."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from . import fcm_message, keys
from .clock import Clock
from .faults import Fault
from .fcm_message import bad_request, fcm_error, invalid, refused
from .fcm_rules import RULES
from .fcm_schema import REQUEST
from .message import Request, Response
from .oauth import MESSAGING_SCOPES, AccessToken, TokenEndpoint
from .pace import Bucket, Burst
from .protojson import JSONFault
from .record import Record
from .retries import RetryWatch
from .rules import Refused
from .service import ControlRoute, Service, retry_after
from .strict_json import loads_unique

_PATH = re.compile(r"/v1/projects/([^/]+)/messages:send")
_TYPE = "type.googleapis.com/google.rpc."
_NUMERIC = re.compile(r"[0-9]+")
_CREDENTIALS = (
    "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
    "See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
_MISSING = f"Request is missing required authentication credential. {_CREDENTIALS}"
_INVALID = f"Request had invalid authentication credentials. {_CREDENTIALS}"

_QUERY = {
    "alt": ("json", "media", "proto"),
    "$.xgafv": ("1", "2"),
    **dict.fromkeys(("access_token", "key", "prettyPrint", "quotaUser"), None),
}
"""The query parameters in Google's API description, with their values if it lists them."""

_FAULTS = {
    400: ("INVALID_ARGUMENT", "INVALID_ARGUMENT", "Request contains an invalid argument."),
    401: ("UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service"),
    403: ("PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch"),
    404: ("NOT_FOUND", "UNREGISTERED", "Requested entity was not found."),
    429: ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Quota exceeded."),
    500: ("INTERNAL", "INTERNAL", "Internal error encountered."),
    503: ("UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable."),
}
"""The canonical code, FCM's own code and the text for each status."""

_GATEWAY_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


@dataclass
class FCMSettings:
    """Durations in seconds and limits that a test can set."""

    package_name: str = "com.example.scrollback"
    access_token_seconds: float = 3600
    max_concurrent_streams: int = 100
    project_per_minute: int = 600_000
    device_per_minute: int = 240
    device_per_hour: int = 5000
    retry_seconds_after_429: float = 60
    retry_seconds_after_5xx: float = 10


@dataclass
class Device:
    """One app instance."""

    token: str
    platform: str
    project: str
    dead: bool = False
    minute: Bucket | None = None
    hour: Bucket | None = None
    collapsible: Burst = field(default_factory=lambda: Burst(20, 180))


class FCM(Service):
    """Checks messages by the rules of fcm.md, in the order of its section 6."""

    rules = RULES
    settings_type = FCMSettings
    protocols = ("h2", "http/1.1")

    def __init__(self, settings: FCMSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._project = f"scrollback-{secrets.token_hex(3)}"
        self._number = keys.identifier(12, "123456789")
        self._oauth = TokenEndpoint(self._project, settings.access_token_seconds, clock, record)
        self._devices: dict[str, Device] = {}
        self._retries = RetryWatch()
        self._bucket = Bucket(settings.project_per_minute, 60)
        self._enabled = True

    def client_needs(self) -> dict[str, Any]:
        return {
            "serviceAccountFile": self._oauth.write_account(self.directory, self.endpoint),
            "projectID": self._project,
            "projectNumber": self._number,
            "packageName": self.settings.package_name,
        }

    def stream_limit(self) -> int:
        return self.settings.max_concurrent_streams

    def kind(self, request: Request) -> str:
        return "token" if request.path == "/token" else "send"

    # Requests

    def handle(self, request: Request) -> Response:
        if request.path == "/token":
            return self._oauth.answer(request)
        project = self._project_in_path(request)
        self._check_retry(request)
        self._check_credentials(request, project)
        self._check_project_quota()
        self._check_transport(request)
        order = self._read(request)
        message = order.get("message")
        if message is None:
            raise invalid("message-present", "Recipient of the message is not set.", "message")
        fcm_message.check(message)
        device = self._device(message)
        platform = device.platform if device else "android"
        fcm_message.check_size(message, platform)
        if platform == "ios":
            fcm_message.check_ios(message)
        self._check_device(device, message)
        self._check_device_quota(device)
        name = f"projects/{self._project}/messages/0:{self.clock.milliseconds()}%{secrets.token_hex(8)}"
        if not order.get("validate_only", False):
            self._deliver(message, device, request, name)
        return Response.json(200, {"name": name})

    @staticmethod
    def _project_in_path(request: Request) -> str:
        path = unquote(request.path)
        if path in ("/fcm/send", "/batch"):
            raise Refused("legacy-path", 404, "NOT_FOUND", path)
        found = _PATH.fullmatch(path)
        if found is None:
            raise Refused("path-known", 404, "NOT_FOUND", path)
        if request.method != "POST":
            raise Refused("method-post", 405, "METHOD_NOT_ALLOWED", request.method)
        return found.group(1)

    def _check_retry(self, request: Request) -> None:
        if self._retries.is_empty():
            return
        now = self.clock.now()
        earlier = self._retries.breach(self._message_key(request), now)
        earlier = earlier or self._retries.breach(self._credential_key(request), now)
        if earlier is None:
            return
        rule = "retry-of-final-answer" if earlier.wait is None else "retry-too-soon"
        text = f"answered {earlier.status} {now - earlier.at:.1f} s ago"
        raise refused(rule, 429, "RESOURCE_EXHAUSTED", text, [fcm_error("QUOTA_EXCEEDED")])

    @staticmethod
    def _message_key(request: Request) -> bytes:
        return RetryWatch.key(request.target.encode("utf-8", "surrogateescape"), request.body)

    @staticmethod
    def _credential_key(request: Request) -> bytes:
        """Returns a key like _message_key, for one access token only."""
        authorization = request.headers.get("authorization", "")
        return RetryWatch.key(authorization.encode("utf-8", "surrogateescape"), request.body)

    def _check_credentials(self, request: Request, project: str) -> None:
        authorization = request.headers.get("authorization")
        if not authorization:
            raise refused(
                "authorization-present", 401, "UNAUTHENTICATED", _MISSING, [_error_info("CREDENTIALS_MISSING")]
            )
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise refused("authorization-bearer", 401, "UNAUTHENTICATED", _INVALID)
        token = self._oauth.find(text)
        if token is None:
            raise refused("access-token-issued", 401, "UNAUTHENTICATED", _INVALID)
        self._check_access(token, project)

    def _check_access(self, token: AccessToken, project: str) -> None:
        if self.clock.now() >= token.expires_at:
            details = [_error_info("ACCESS_TOKEN_EXPIRED")]
            raise refused("access-token-age", 401, "UNAUTHENTICATED", _INVALID, details)
        if not token.scopes & MESSAGING_SCOPES:
            text = "Request had insufficient authentication scopes."
            details = [_error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT")]
            raise refused("access-token-scope", 403, "PERMISSION_DENIED", text, details)
        if project not in (self._project, self._number):
            resource = f"//cloudresourcemanager.googleapis.com/projects/{project}"
            text = f"Permission 'cloudmessaging.messages.create' denied on resource '{resource}'"
            raise refused("project-allowed", 403, "PERMISSION_DENIED", text, [_error_info("IAM_PERMISSION_DENIED")])
        if not self._enabled:
            text = f"Firebase Cloud Messaging API has not been used in project {self._number} before or it is disabled."
            raise refused("api-disabled", 403, "PERMISSION_DENIED", text, [_error_info("SERVICE_DISABLED")])

    @staticmethod
    def _check_transport(request: Request) -> None:
        if request.media_type() != "application/json":
            raise invalid("content-type", f"content type {request.media_type()}")
        for name, value in request.query:
            if name not in _QUERY or (_QUERY[name] and value not in _QUERY[name]):
                text = f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter.'
                raise refused("query-parameter", 400, "INVALID_ARGUMENT", text, [bad_request(None, text)])

    @staticmethod
    def _read(request: Request) -> dict[str, Any]:
        try:
            return REQUEST.read(loads_unique(request.body), "")
        except JSONFault as fault:
            details = [bad_request(fault.path, str(fault))]
            raise refused(fault.rule, 400, "INVALID_ARGUMENT", str(fault), details) from fault
        except ValueError as error:
            text = f"Invalid JSON payload received. {error}"
            raise refused("json-form", 400, "INVALID_ARGUMENT", text, [bad_request(None, text)]) from error

    def _device(self, message: dict[str, Any]) -> Device | None:
        """Returns the device of a message to a token, or None for a topic or a condition."""
        if "token" not in message:
            return None
        device = self._devices.get(message["token"])
        if device is None:
            text = "Requested entity was not found."
            raise refused("token-issued", 404, "NOT_FOUND", text, [fcm_error("UNREGISTERED")])
        return device

    def _check_device(self, device: Device | None, message: dict[str, Any]) -> None:
        if device is None:
            return
        if device.project != self._project:
            details = [fcm_error("SENDER_ID_MISMATCH")]
            raise refused("sender-id", 403, "PERMISSION_DENIED", "SenderId mismatch", details)
        package = message.get("android", {}).get("restricted_package_name", self.settings.package_name)
        if package != self.settings.package_name:
            raise invalid("package-name", "The package name is not the token's.")
        if device.dead:
            details = [fcm_error("UNREGISTERED")]
            error = refused("device-unregistered", 404, "NOT_FOUND", "Requested entity was not found.", details)
            error.token = device.token
            raise error

    def _check_project_quota(self) -> None:
        """Checks the project quota before the message is parsed, because refused messages count too."""
        if self._bucket.take(self.clock.now()):
            return
        text = (
            "Quota exceeded for quota metric 'Send requests' and limit 'Send requests per minute' of service "
            f"'fcm.googleapis.com' for consumer 'project_number:{self._number}'."
        )
        info = _error_info("RATE_LIMIT_EXCEEDED", quota_limit="SendsPerMinutePerProject")
        raise refused("project-quota", 429, "RESOURCE_EXHAUSTED", text, [info])

    def _check_device_quota(self, device: Device | None) -> None:
        if device is None or device.platform != "android":
            return
        now = self.clock.now()
        device.minute = device.minute or Bucket(self.settings.device_per_minute, 60)
        device.hour = device.hour or Bucket(self.settings.device_per_hour, 3600)
        if not device.minute.take(now) or not device.hour.take(now):
            failure = {"@type": _TYPE + "QuotaFailure", "violations": [{"subject": f"device:{device.token}"}]}
            details = [fcm_error("QUOTA_EXCEEDED"), failure]
            raise refused("device-quota", 429, "RESOURCE_EXHAUSTED", "Device message rate exceeded.", details)

    def _deliver(self, message: dict[str, Any], device: Device | None, request: Request, name: str) -> None:
        for rule, detail in fcm_message.notices(message):
            self.record.notice(rule, detail, message.get("token"))
        delayed = device is not None and self._is_delayed(device, message)
        if delayed:
            self.record.notice("collapsible-burst", "", device.token)
        target = message.get("token") or message.get("topic") or message["condition"]
        self.record.take(target, request.shown_headers(), message, name, delayed=delayed)

    def _is_delayed(self, device: Device, message: dict[str, Any]) -> bool:
        """Returns whether a collapsible message follows others too soon."""
        android = message.get("android", {})
        shown = "notification" in message or "notification" in android
        collapsible = shown or "collapse_key" in android
        now_or_never = android.get("ttl") == 0
        if device.platform != "android" or not collapsible or now_or_never:
            return False
        return not device.collapsible.take(self.clock.now())

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if "error" in refused.extra:
            return Response.json(refused.status, refused.extra)
        if "details" not in refused.extra:
            return Response(refused.status, [("content-type", "text/html; charset=UTF-8")], b"<html></html>")
        final = refused.status in (400, 403, 404) and not refused.rule.startswith("retry-")
        if final:
            self._retries.note(self._message_key(request), refused.status, self.clock.now(), None)
        elif refused.status == 401:
            self._retries.note(self._credential_key(request), 401, self.clock.now(), None)
        return _error(refused.status, refused.reason, refused.detail, refused.extra["details"])

    def fault(self, fault: Fault, request: Request) -> Response:
        headers = retry_after(fault)
        if self.kind(request) == "token":
            body = {"error": fault.reason or "internal_failure", "error_description": "ordered by the test"}
            return Response.json(fault.status, body, headers)
        if fault.status == 429 or fault.status >= 500:
            self._retries.note(self._message_key(request), fault.status, self.clock.now(), self._wait(fault))
        if fault.status not in _FAULTS:
            return Response(fault.status, [("content-type", "text/html; charset=UTF-8"), *headers], _GATEWAY_PAGE)
        canonical, code, text = _FAULTS[fault.status]
        return _error(fault.status, canonical, text, [fcm_error(fault.reason or code)], headers)

    def _wait(self, fault: Fault) -> float:
        """Returns how long a sender must wait after an injected fault."""
        if fault.retry_after is not None and _NUMERIC.fullmatch(str(fault.retry_after)):
            return float(fault.retry_after)
        return self.settings.retry_seconds_after_429 if fault.status == 429 else self.settings.retry_seconds_after_5xx

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        """Body: count, platform (android, ios or web; default: android), project (own or other)."""
        platform = order.get("platform", "android")
        if platform not in ("android", "ios", "web"):
            raise ValueError("platform is android, ios or web")
        project = self._project if order.get("project", "own") == "own" else "another-project"
        made = [
            Device(f"{secrets.token_urlsafe(16)}:APA91b{secrets.token_urlsafe(100)}", platform, project)
            for _ in range(order.get("count", 1))
        ]
        self._devices.update((device.token, device) for device in made)
        return [device.token for device in made]

    def kill_devices(self, order: dict[str, Any]) -> int:
        for token in order["tokens"]:
            self._devices[token].dead = True
        return len(order["tokens"])

    def control_routes(self) -> dict[str, ControlRoute]:
        return {"/api": self._switch}

    def _switch(self, order: dict[str, Any]) -> dict[str, bool]:
        """Body: enabled; false disables the messaging API for the project."""
        self._enabled = bool(order["enabled"])
        return {"enabled": self._enabled}

    def reset(self) -> None:
        self._retries.reset()
        self._oauth.reset()
        self._bucket = Bucket(self.settings.project_per_minute, 60)
        self._enabled = True


def _error_info(reason: str, **metadata: str) -> dict[str, Any]:
    service = {"service": "fcm.googleapis.com", "method": "google.firebase.fcm.v1.FcmService.SendMessage"}
    return {
        "@type": _TYPE + "ErrorInfo",
        "reason": reason,
        "domain": "googleapis.com",
        "metadata": {**service, **metadata},
    }


def _error(
    status: int,
    canonical: str,
    message: str,
    details: list[dict[str, Any]],
    headers: list[tuple[str, str]] | None = None,
) -> Response:
    error: dict[str, Any] = {"code": status, "message": message, "status": canonical}
    if details:
        error["details"] = details
    return Response.json(status, {"error": error}, headers)
