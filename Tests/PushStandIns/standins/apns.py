"""The Apple Push Notification service."""

from __future__ import annotations

import re
import secrets
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import apns_payload, keys
from .apns_rules import RULES
from .apns_tokens import ConnectionState, Key, ProviderTokens
from .clock import Clock
from .faults import Fault
from .message import Connection, Request, Response
from .record import Record
from .retries import RetryWatch
from .rules import Refused
from .service import ControlRoute, Service, retry_after
from .strict_json import loads

SUFFIXES = {
    "alert": "",
    "background": "",
    "voip": ".voip",
    "complication": ".complication",
    "fileprovider": ".pushkit.fileprovider",
    "liveactivity": ".push-type.liveactivity",
    "location": ".location-query",
    "mdm": None,
    "pushtotalk": ".voip-ptt",
    "controls": ".push-type.controls",
    "widgets": ".push-type.widgets",
}
"""The topic suffix of each push type. mdm has its own kind of topic."""

REASONS = {
    400: (
        "BadDeviceToken",
        "BadCollapseId",
        "BadExpirationDate",
        "BadMessageId",
        "BadPriority",
        "BadTopic",
        "DeviceTokenNotForTopic",
        "DuplicateHeaders",
        "IdleTimeout",
        "InvalidPushType",
        "MissingDeviceToken",
        "MissingTopic",
        "PayloadEmpty",
        "TopicDisallowed",
    ),
    403: (
        "ExpiredProviderToken",
        "BadCertificate",
        "BadCertificateEnvironment",
        "Forbidden",
        "InvalidProviderToken",
        "MissingProviderToken",
        "UnrelatedKeyIdInToken",
        "BadEnvironmentKeyIdInToken",
    ),
    404: ("BadPath",),
    405: ("MethodNotAllowed",),
    410: ("Unregistered", "ExpiredToken"),
    413: ("PayloadTooLarge",),
    429: ("TooManyRequests", "TooManyProviderTokenUpdates"),
    500: ("InternalServerError",),
    503: ("ServiceUnavailable", "Shutdown"),
}
"""The documented reasons by status. The first one applies if a fault names none."""

UNPUBLISHED = "BadRequestPayload"
"""The reason for a malformed payload. Apple documents it only for broadcast pushes."""

MAXIMUM_BYTES = 4096
MAXIMUM_VOIP_BYTES = 5120
FINAL = ("BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken")

_PREFIX = "/3/device/"
_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})+")
_TOPIC = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = re.compile(r"[0-9]+")


def fault_in_delivery_headers(header: Callable[[str], str | None]) -> tuple[str, str, str] | None:
    """Returns the rule, reason and detail of an invalid apns- header, except for checks that depend on the topic."""
    expiration, priority, collapse = header("apns-expiration"), header("apns-priority"), header("apns-collapse-id")
    if expiration is not None and not _DIGITS.fullmatch(expiration):
        return "expiration-form", "BadExpirationDate", expiration
    if priority is not None and priority not in ("1", "5", "10"):
        return "priority-value", "BadPriority", priority
    if collapse is not None and len(collapse.encode("utf-8", "surrogateescape")) > 64:
        return "collapse-id-length", "BadCollapseId", "more than 64 bytes"
    push_type = header("apns-push-type")
    if push_type is not None and push_type not in SUFFIXES:
        return "push-type-known", "InvalidPushType", push_type
    return None


@dataclass
class APNsSettings:
    """Durations in seconds and limits that a test can set."""

    environment: str = "production"
    topics: list[str] = field(default_factory=lambda: ["com.example.scrollback"])
    provider_token_seconds: float = 3600
    provider_token_renewal_seconds: float = 1200
    server_error_retry_seconds: float = 900
    max_concurrent_streams: int = 500
    streams_before_success: int = 1
    streams_after_refusal: int = 0
    """Streams allowed after a 4xx other than 410, until the next success. 0 does not change the limit."""
    pushes_in_a_row: int = 0
    """The maximum number of consecutive pushes to one device. 0 means no limit."""
    background_pushes_an_hour: int = 3


@dataclass(slots=True)
class Device:
    """One app on one device."""

    token: str
    topic: str
    environment: str
    gone: str | None = None
    """Unregistered or ExpiredToken, or None while the token is valid."""
    since: int = 0
    background: deque[float] | None = None


class APNs(Service):
    """Checks pushes by the rules of apns.md, in the order of its section 7."""

    rules = RULES
    settings_type = APNsSettings
    protocols = ("h2",)

    def __init__(self, settings: APNsSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        self._tokens = ProviderTokens(
            clock, settings.environment, settings.provider_token_seconds, settings.provider_token_renewal_seconds
        )
        self._key = self._tokens.make_key(directory, keys.identifier(10))
        self._devices: dict[str, Device] = {}
        self._final: set[str] = set()
        self._retries = RetryWatch()
        self._last_device = ""
        self._in_a_row = 0
        self._short_connections = 0

    def client_needs(self) -> dict[str, Any]:
        return {**self._key.described(), "topic": self.settings.topics[0], "environment": self.settings.environment}

    # Connections

    def stream_limit(self) -> int:
        return self.settings.streams_before_success

    def opened(self, connection: Connection) -> None:
        connection.state = ConnectionState()

    def closed(self, connection: Connection) -> None:
        if connection.state.pushes != 1:
            self._short_connections = 0
            return
        self._short_connections += 1
        if self._short_connections >= 3:
            self.record.notice("connection-per-push", f"{self._short_connections} connections with one push each")

    # Requests

    def handle(self, request: Request) -> Response:
        state: ConnectionState = request.connection.state
        token = self._device_token(request)
        self._check_repeated(request)
        authorization = request.headers.get("authorization")
        if authorization is None:
            raise Refused("authorization-present", 403, "MissingProviderToken", "no authorization header")
        key = self._tokens.admit(authorization, state).key
        self.record.tokens_seen = self._tokens.seen
        state.pushes += 1
        push_type, topic = self._check_headers(request, key)
        payload = self._payload(request, push_type)
        self._notice_payload(payload, request, token)
        device = self._device(token, topic)
        self._check_pace(device, push_type, request)
        id = request.headers.get("apns-id") or str(uuid.uuid4())
        self.record.take(device.token, request.shown_headers(), payload, id)
        request.connection.stream_limit = self.settings.max_concurrent_streams
        headers = [("apns-id", id)]
        if self.settings.environment == "sandbox":
            headers.append(("apns-unique-id", str(uuid.uuid4())))
        return Response(200, headers)

    @staticmethod
    def _device_token(request: Request) -> str:
        """Returns the token in the path, after checking the method, the path and the token's form."""
        if request.method != "POST":
            raise Refused("method-post", 405, "MethodNotAllowed", request.method)
        if request.target in (_PREFIX, _PREFIX[:-1]):
            raise Refused("device-token-present", 400, "MissingDeviceToken", request.target)
        token = request.target.removeprefix(_PREFIX)
        if token == request.target or "/" in token or "?" in token:
            raise Refused("path-form", 404, "BadPath", request.target)
        return token

    @staticmethod
    def _check_repeated(request: Request) -> None:
        if not request.repeated:
            return
        names = [name for name, _ in request.fields if name == "authorization" or name.startswith("apns-")]
        if len(set(names)) != len(names):
            raise Refused("headers-once", 400, "DuplicateHeaders", ", ".join(sorted(names)))

    def _check_headers(self, request: Request, key: Key) -> tuple[str, str]:
        """Checks the apns- headers, and returns the push type and the topic."""
        headers = request.headers
        topic = headers.get("apns-topic")
        if topic is None:
            raise Refused("topic-present", 400, "MissingTopic")
        if not _TOPIC.fullmatch(topic):
            raise Refused("topic-form", 400, "BadTopic", topic)
        self._check_id(headers.get("apns-id"))
        if broken := fault_in_delivery_headers(headers.get):
            raise Refused(broken[0], 400, broken[1], broken[2])
        push_type = headers.get("apns-push-type")
        if push_type is None:
            raise Refused("push-type-present", 400, "InvalidPushType", "no apns-push-type header")
        self._check_topic(topic, push_type, key)
        self._check_priority(push_type, headers.get("apns-priority", "10"), headers.get("apns-expiration"))
        return push_type, topic

    @staticmethod
    def _check_id(id: str | None) -> None:
        if id is None or _UUID.fullmatch(id):
            return
        rule = "apns-id-lower-case" if _UUID.fullmatch(id.lower()) else "apns-id-form"
        raise Refused(rule, 400, "BadMessageId", id)

    def _check_topic(self, topic: str, push_type: str, key: Key) -> None:
        base, suffix = self._split_topic(topic)
        if base is None or key.team != self._key.team or (key.topics is not None and base not in key.topics):
            raise Refused("topic-owned", 400, "TopicDisallowed", topic)
        if suffix != SUFFIXES[push_type]:
            reason = "InvalidPushType" if push_type in ("alert", "background") and suffix == ".voip" else "BadTopic"
            raise Refused("push-type-topic", 400, reason, f"{push_type} with topic {topic}")

    def _split_topic(self, topic: str) -> tuple[str | None, str]:
        """Splits a topic into a bundle identifier of the team and a suffix."""
        for base in self.settings.topics:
            suffix = topic.removeprefix(base)
            if suffix != topic and suffix in SUFFIXES.values():
                return base, suffix
        return None, ""

    @staticmethod
    def _check_priority(push_type: str, priority: str, expiration: str | None) -> None:
        if push_type == "background" and priority != "5":
            raise Refused("background-priority", 400, "BadPriority", f"background with priority {priority}")
        if push_type in ("liveactivity", "location") and priority == "1":
            raise Refused("push-type-priority", 400, "BadPriority", f"{push_type} with priority 1")
        if push_type == "pushtotalk" and (priority != "10" or expiration != "0"):
            reason = "BadPriority" if priority != "10" else "BadExpirationDate"
            raise Refused("push-to-talk-delivery", 400, reason, f"priority {priority}, expiration {expiration}")

    @staticmethod
    def _payload(request: Request, push_type: str) -> dict[str, Any]:
        body = request.body
        if not body:
            raise Refused("payload-present", 400, "PayloadEmpty")
        limit = MAXIMUM_VOIP_BYTES if push_type == "voip" else MAXIMUM_BYTES
        if len(body) > limit:
            raise Refused("payload-size", 413, "PayloadTooLarge", f"{len(body)} bytes")
        if "content-encoding" in request.headers:
            raise Refused("payload-uncompressed", 400, "PayloadEmpty", request.headers["content-encoding"])
        try:
            payload = loads(body)
        except ValueError as error:
            raise Refused("payload-json", 400, UNPUBLISHED, str(error)) from error
        if not isinstance(payload, dict):
            raise Refused("payload-json", 400, UNPUBLISHED, "not an object")
        aps = payload.get("aps")
        if aps is None and push_type == "voip" and "aps" not in payload:
            return payload
        if not isinstance(aps, dict):
            raise Refused("payload-aps", 400, UNPUBLISHED, "no aps object")
        if broken := apns_payload.fault(aps, push_type):
            reason = "InvalidPushType" if broken[0] in ("background-payload", "alert-payload") else UNPUBLISHED
            raise Refused(broken[0], 400, reason, broken[1])
        return payload

    def _notice_payload(self, payload: dict[str, Any], request: Request, token: str) -> None:
        aps = payload.get("aps", {})
        if own := [name for name in aps if name not in apns_payload.APS]:
            self.record.notice("own-keys-in-aps", ", ".join(own), token)
        if "mutable-content" in aps and not apns_payload.runs_extension(aps):
            self.record.notice("mutable-content-alert", "", token)
        expiration = int(request.headers.get("apns-expiration", "0"))
        if 0 < expiration < self.clock.now():
            self.record.notice("expiration-past", str(expiration), token)

    def _device(self, token: str, topic: str) -> Device:
        """Returns the device of a token, or raises Refused if it can't get a push."""
        if not _HEXADECIMAL.fullmatch(token):
            raise self._bad_device("device-token-hexadecimal", token, 400, "BadDeviceToken")
        device = self._devices.get(token.lower())
        if device is None:
            raise self._bad_device("device-token-issued", token, 400, "BadDeviceToken")
        if device.environment != self.settings.environment:
            raise self._bad_device("device-token-environment", token, 400, "BadDeviceToken")
        if device.topic != topic:
            raise self._bad_device("device-token-topic", token, 400, "DeviceTokenNotForTopic")
        if device.gone is not None:
            rule = "device-expired" if device.gone == "ExpiredToken" else "device-unregistered"
            refused = self._bad_device(rule, token, 410, device.gone)
            refused.extra["timestamp"] = device.since
            raise refused
        return device

    def _bad_device(self, rule: str, token: str, status: int, reason: str) -> Refused:
        if token in self._final:
            self.record.notice("final-answer-repeated", reason, token)
        self._final.add(token)
        return Refused(rule, status, reason, token=token)

    def _check_pace(self, device: Device, push_type: str, request: Request) -> None:
        self._in_a_row = self._in_a_row + 1 if device.token == self._last_device else 1
        self._last_device = device.token
        if 0 < self.settings.pushes_in_a_row < self._in_a_row:
            raise Refused("pushes-in-a-row", 429, "TooManyRequests", f"{self._in_a_row} in a row")
        if push_type == "background":
            self._notice_background(device)
        if not self._retries.is_empty():
            earlier = self._retries.breach(self._retry_key(request), self.clock.now())
            if earlier is not None:
                self.record.notice("server-error-retry", f"after {earlier.status}", device.token)

    def _notice_background(self, device: Device) -> None:
        now = self.clock.now()
        device.background = device.background or deque()
        device.background.append(now)
        while device.background[0] < now - 3600:
            device.background.popleft()
        if len(device.background) > self.settings.background_pushes_an_hour:
            self.record.notice("background-rate", f"{len(device.background)} in an hour", device.token)

    @staticmethod
    def _retry_key(request: Request) -> bytes:
        return RetryWatch.key(request.target.encode("utf-8", "surrogateescape"), request.body)

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        if 0 < self.settings.streams_after_refusal and refused.status != 410:
            request.connection.stream_limit = self.settings.streams_after_refusal
        return self._error(request, refused.status, {"reason": refused.reason, **refused.extra})

    def fault(self, fault: Fault, request: Request) -> Response:
        reasons = REASONS.get(fault.status, ("InternalServerError",))
        body: dict[str, Any] = {"reason": fault.reason or reasons[0]}
        if fault.status == 410:
            body["timestamp"] = self.clock.milliseconds()
        if fault.status >= 500:
            wait = self.settings.server_error_retry_seconds
            self._retries.note(self._retry_key(request), fault.status, self.clock.now(), wait)
        return self._error(request, fault.status, body, retry_after(fault))

    @staticmethod
    def _error(
        request: Request, status: int, body: dict[str, Any], headers: list[tuple[str, str]] | None = None
    ) -> Response:
        asked = request.headers.get("apns-id", "").lower()
        id = asked if _UUID.fullmatch(asked) else str(uuid.uuid4())
        return Response.json(status, body, [("apns-id", id), *(headers or [])])

    def going_away(self, fault: Fault) -> bytes:
        return b'{"reason":"%s"}' % (fault.reason or "Shutdown").encode()

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[str]:
        topic = order.get("topic", self.settings.topics[0])
        environment = order.get("environment", self.settings.environment)
        made = [Device(secrets.token_hex(32), topic, environment) for _ in range(order.get("count", 1))]
        self._devices.update((device.token, device) for device in made)
        return [device.token for device in made]

    def kill_devices(self, order: dict[str, Any]) -> int:
        """Body: tokens, since (Unix milliseconds, default: now), reason (default: Unregistered)."""
        for token in order["tokens"]:
            device = self._devices[token.lower()]
            device.gone = order.get("reason", "Unregistered")
            device.since = order.get("since", self.clock.milliseconds())
        return len(order["tokens"])

    def control_routes(self) -> dict[str, ControlRoute]:
        return {"/keys": self._make_key}

    def _make_key(self, order: dict[str, Any]) -> dict[str, str]:
        """Body: team (own or other), environment, related, topics. All are optional."""
        team = self._key.team if order.get("team", "own") == "own" else keys.identifier(10)
        family = self._key.family if order.get("related", False) else None
        return self._tokens.make_key(
            self.directory, team, order.get("environment", "both"), family, order.get("topics")
        ).described()

    def reset(self) -> None:
        self._final.clear()
        self._retries.reset()
        self._in_a_row = 0
        self._short_connections = 0
