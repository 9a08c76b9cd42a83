"""Web Push: the push service and the browser behind it."""

from __future__ import annotations

import os
import re
import secrets
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from . import keys
from .clock import Clock
from .faults import Fault
from .message import Request, Response
from .pace import Bucket
from .record import Record
from .rules import Refused
from .service import Service, retry_after
from .shapes import Shape, boolean, misfit, text
from .strict_json import loads
from .vapid import Credentials, Vapid
from .webpush_encryption import Receiver
from .webpush_rules import RULES

PROFILES = ("rfc", "apple", "mozilla")

_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")
_TTL = re.compile(r"[0-9]+")
_URGENCIES = ("very-low", "low", "normal", "high")
_RECEIPT = re.compile(r'<([^>]*)>\s*;\s*rel="?urn:ietf:params:push:receipt"?')
_ONE_HOUR = 3600
_OPTIONS: Shape = {
    **dict.fromkeys(("title", "body", "tag", "image", "icon"), text),
    **dict.fromkeys(("silent", "requireInteraction", "renotify"), boolean),
}
"""The options of showNotification with the same names in the payload. badge is a number of the payload instead."""

_APPLE_REASONS = {
    400: "BadWebPushRequest",
    401: "BadAuthorizationHeader",
    403: "BadJwtToken",
    404: "BadPath",
    405: "MethodNotAllowed",
    413: "PayloadTooLarge",
    429: "TooManyRequests",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}
_MOZILLA_NUMBERS = {400: 110, 401: 109, 404: 102, 410: 103, 413: 104, 429: 201, 500: 999, 502: 900, 503: 201}
_MOZILLA_RULES = {"ttl-present": 111, "ttl-form": 112, "topic-form": 113, "topic-empty": 113}


@dataclass
class WebPushSettings:
    """The simulated service, and limits that a test can set."""

    profile: str = "rfc"
    """rfc, apple or mozilla: the origin of the responses."""
    maximum_bytes: int = 4096
    maximum_ttl: int = 30 * 24 * 3600
    pushes_per_minute: int = 0
    """The maximum number of pushes a minute per subscription. 0 means no limit."""
    max_concurrent_streams: int = 100


@dataclass
class Subscription:
    """A browser's subscription, with its secrets."""

    endpoint: str
    private_key: ec.EllipticCurvePrivateKey
    auth: bytes
    application_server_key: bytes | None
    gone: int | None = None
    """The status of an ended subscription, or None while it is active."""
    wait_until: float = 0.0
    bucket: Bucket | None = None
    topics: dict[str, int] = field(default_factory=dict)
    """The number of the latest notification of each topic."""

    def described(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "p256dh": keys.encode(keys.point(self.private_key.public_key())),
            "auth": keys.encode(self.auth),
        }


class WebPush(Service):
    """Checks pushes by the rules of web-push.md, and decrypts them like a browser."""

    rules = RULES
    settings_type = WebPushSettings
    protocols = ("h2", "http/1.1")

    def __init__(self, settings: WebPushSettings, directory: Path, clock: Clock, record: Record) -> None:
        super().__init__(settings, directory, clock, record)
        if settings.profile not in PROFILES:
            raise ValueError(f"profile is one of {', '.join(PROFILES)}")
        self._subscriptions: dict[str, Subscription] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._receipts: set[str] = set()
        self._vapid = Vapid(clock, demand_real_subject=settings.profile == "apple")
        self._receiver = Receiver()
        self._latest_tokens: dict[bytes, tuple[str, float]] = {}

    def client_needs(self) -> dict[str, Any]:
        return {"profile": self.settings.profile}

    def stream_limit(self) -> int:
        return self.settings.max_concurrent_streams

    # Requests

    def handle(self, request: Request) -> Response:
        if request.method == "DELETE" and request.path in self._messages:
            notification = self._messages.pop(request.path)
            self.record.revoke(notification["token"], notification["number"])
            return Response(204)
        subscription = self._subscriptions.get(request.path)
        if subscription is None:
            raise Refused("subscription-issued", 404, "BadPath", request.path)
        if request.method != "POST":
            raise Refused("method-post", 405, "MethodNotAllowed", request.method)
        ttl = self._check_ttl(request)
        self._check_urgency(request)
        topic = self._check_topic(request)
        receipt = self._check_receipt(request)
        credentials = self._check_credentials(request, subscription)
        payload = self._payload(request, subscription, credentials)
        self._check_state(subscription)
        self._notice(credentials, topic, subscription)
        return self._deliver(request, subscription, payload, topic, ttl, receipt)

    def _check_ttl(self, request: Request) -> int:
        ttl = request.headers.get("ttl")
        if ttl is None:
            raise Refused("ttl-present", 400, "BadTtl", "no TTL header")
        if not _TTL.fullmatch(ttl):
            raise Refused("ttl-form", 400, "BadTtl", ttl)
        if int(ttl) == 0 and self.settings.profile == "apple":
            raise Refused("ttl-positive", 400, "BadTtl", ttl)
        return int(ttl)

    @staticmethod
    def _check_urgency(request: Request) -> None:
        values = [part.strip() for value in request.values("urgency") for part in value.split(",")]
        if len(values) > 1:
            raise Refused("urgency-once", 400, "BadUrgency", ", ".join(values))
        if values and values[0] not in _URGENCIES:
            raise Refused("urgency-value", 400, "BadUrgency", values[0])

    @staticmethod
    def _check_topic(request: Request) -> str | None:
        topic = request.headers.get("topic")
        if topic == "":
            raise Refused("topic-empty", 400, "BadWebPushTopic")
        if topic is not None and (not _TOPIC.fullmatch(topic) or len(request.values("topic")) > 1):
            raise Refused("topic-form", 400, "BadWebPushTopic", topic)
        return topic

    def _check_receipt(self, request: Request) -> str | None:
        """Returns the receipt link of the response, if the sender requests a receipt."""
        if "respond-async" not in request.headers.get("prefer", ""):
            return None
        given = _RECEIPT.search(request.headers.get("link", ""))
        if given is None:
            return f"/receipt/{secrets.token_urlsafe(16)}"
        if given.group(1) not in self._receipts:
            raise Refused("receipt-link", 400, "BadWebPushRequest", given.group(1))
        return given.group(1)

    def _check_credentials(self, request: Request, subscription: Subscription) -> Credentials | None:
        authorization = request.headers.get("authorization")
        bound = subscription.application_server_key
        if not authorization:
            if bound is not None:
                raise Refused("authorization-present", 401, "BadAuthorizationHeader", "the subscription is restricted")
            return None
        credentials = self._vapid.admit(authorization, self.endpoint)
        self.record.tokens_seen = self._vapid.seen
        if bound is not None and credentials.key != bound:
            raise Refused("vapid-key-bound", 403, "VapidPkHashMismatch", "k is not the subscription's key")
        return credentials

    def _payload(self, request: Request, subscription: Subscription, credentials: Credentials | None) -> Any:
        body = request.body
        if len(body) > self.settings.maximum_bytes:
            raise Refused("body-size", 413, "PayloadTooLarge", f"{len(body)} bytes")
        codings = [part.strip() for value in request.values("content-encoding") for part in value.split(",")]
        if codings != ["aes128gcm"] and (body or codings):
            raise Refused("content-encoding", 400, "BadWebPushRequest", ", ".join(codings))
        if not body:
            return None
        vapid_key = credentials.key if credentials else b""
        payload = _readable(self._receiver.decrypt(body, subscription.private_key, subscription.auth, vapid_key))
        if isinstance(payload, dict) and (path := misfit(payload, _OPTIONS)):
            raise Refused("notification-options", 400, "BadWebPushRequest", path)
        return payload

    def _check_state(self, subscription: Subscription) -> None:
        if subscription.gone is not None:
            raise Refused("subscription-gone", subscription.gone, "Gone", token=subscription.endpoint)
        now = self.clock.now()
        if now < subscription.wait_until:
            self.record.notice(
                "retry-too-soon", f"{subscription.wait_until - now:.1f} s too soon", subscription.endpoint
            )
        if self.settings.pushes_per_minute:
            subscription.bucket = subscription.bucket or Bucket(self.settings.pushes_per_minute, 60)
            if not subscription.bucket.take(now):
                raise Refused("push-rate", 429, "TooManyRequests", headers=[("retry-after", "60")])

    def _notice(self, credentials: Credentials | None, topic: str | None, subscription: Subscription) -> None:
        if topic is not None and not topic.isalnum():
            self.record.notice("topic-alphanumeric", topic, subscription.endpoint)
        if credentials is None:
            return
        now = self.clock.now()
        token, since = self._latest_tokens.get(credentials.key, ("", 0.0))
        if token == credentials.token:
            return
        if now - since < _ONE_HOUR:
            self.record.notice("vapid-token-reuse", f"a new token after {now - since:.0f} s", subscription.endpoint)
        self._latest_tokens[credentials.key] = (credentials.token, now)

    def _deliver(
        self,
        request: Request,
        subscription: Subscription,
        payload: Any,
        topic: str | None,
        ttl: int,
        receipt: str | None,
    ) -> Response:
        location = f"/message/{secrets.token_urlsafe(16)}"
        replaces = subscription.topics.get(topic) if topic else None
        notification = self.record.take(
            subscription.endpoint, request.shown_headers(), payload, location, replaces=replaces
        )
        if topic:
            subscription.topics[topic] = notification["number"]
        self._messages[location] = notification
        headers = [("location", self.endpoint + location)]
        if ttl > self.settings.maximum_ttl:
            headers.append(("ttl", str(self.settings.maximum_ttl)))
        if receipt is None:
            return Response(201, headers)
        self._receipts.add(receipt)
        return Response(202, [*headers, ("link", f'<{receipt}>; rel="urn:ietf:params:push:receipt"')])

    # Responses

    def refusal(self, refused: Refused, request: Request) -> Response:
        status = refused.status
        if self.settings.profile == "mozilla" and status == 403:
            status = 401
        number = _MOZILLA_RULES.get(refused.rule, _MOZILLA_NUMBERS.get(status, 110))
        return self._error(status, refused.reason, number, refused.headers)

    def fault(self, fault: Fault, request: Request) -> Response:
        subscription = self._subscriptions.get(request.path)
        if subscription is not None and isinstance(fault.retry_after, int):
            subscription.wait_until = self.clock.now() + fault.retry_after
        reason = fault.reason or _APPLE_REASONS.get(fault.status, "InternalServerError")
        return self._error(fault.status, reason, _MOZILLA_NUMBERS.get(fault.status, 999), retry_after(fault))

    def _error(self, status: int, reason: str, number: int, headers: list[tuple[str, str]]) -> Response:
        if self.settings.profile == "apple":
            return Response.json(status, {"reason": reason}, [("apns-id", str(uuid.uuid4())), *headers])
        if self.settings.profile == "mozilla":
            body = {"code": status, "errno": number, "error": reason, "message": "refused by the stand-in"}
            return Response.json(status, body, headers)
        return Response(status, [("content-type", "text/plain"), *headers], reason.encode())

    # Control

    def make_devices(self, order: dict[str, Any]) -> list[dict[str, str]]:
        """Body: count, applicationServerKey (base64url; without it, the subscriptions are not restricted)."""
        bound = keys.decode(order["applicationServerKey"]) if "applicationServerKey" in order else None
        if bound is not None and (len(bound) != 65 or bound[0] != 4):
            raise ValueError("applicationServerKey is not an uncompressed point")
        made = []
        for _ in range(order.get("count", 1)):
            path = f"/push/{secrets.token_urlsafe(32)}"
            subscription = Subscription(self.endpoint + path, keys.p256(), os.urandom(16), bound)
            self._subscriptions[path] = subscription
            made.append(subscription.described())
        return made

    def kill_devices(self, order: dict[str, Any]) -> int:
        """Body: tokens (endpoints or subscriptions), status (404 or 410)."""
        usual = 404 if self.settings.profile == "rfc" else 410
        for token in order["tokens"]:
            endpoint = token["endpoint"] if isinstance(token, dict) else token
            self._subscriptions[endpoint.removeprefix(self.endpoint)].gone = order.get("status", usual)
        return len(order["tokens"])

    def reset(self) -> None:
        self._messages.clear()
        self._latest_tokens.clear()
        for subscription in self._subscriptions.values():
            subscription.topics.clear()
            subscription.wait_until = 0.0


def _readable(plaintext: bytes) -> Any:
    """Returns the plaintext as JSON, as text or in base64url, in this order of preference."""
    try:
        return loads(plaintext)
    except UnicodeDecodeError:
        return keys.encode(plaintext)
    except ValueError:
        return plaintext.decode()
