"""APNs: valid pushes are accepted, and one request violates each rule."""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import pytest
from conftest import StandIn, untested
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from frames import (
    ACK,
    DATA,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    RawConnection,
    frame,
)

from standins.apns_rules import RULES

ALERT = {"aps": {"alert": {"title": "Room", "body": "Hello"}, "badge": 1, "sound": "default"}, "own": {"id": 7}}
BACKGROUND = {"apns-push-type": "background", "apns-priority": "5"}
SILENT = {"aps": {"content-available": 1}}


@pytest.fixture
def apns(started: Callable[..., StandIn]) -> StandIn:
    return started("apns", topics=["com.example.chat", "com.example.other"], pushesInARow=4)


class Sender:
    """A correct provider with one connection; each test changes one aspect."""

    def __init__(self, standin: StandIn, key: dict[str, str] | None = None) -> None:
        self.standin = standin
        self.key = key or standin.ready
        self.client = standin.client(http2=True)
        self.token = self.provider_token()
        self.device = standin.device()

    def provider_token(
        self, key: dict[str, str] | None = None, iat: Any = None, algorithm: str = "ES256", **claims: Any
    ) -> str:
        key = key or self.key
        private = open(key["keyFile"]).read() if algorithm == "ES256" else "a secret of thirty-two bytes or more"
        payload = {"iss": key["teamID"], "iat": int(time.time()) if iat is None else iat, **claims}
        return jwt.encode(payload, private, algorithm, {"kid": key["keyID"]})

    def push(
        self,
        headers: dict[str, str | None] | None = None,
        body: Any = ALERT,
        device: str | None = None,
        path: str | None = None,
        method: str = "POST",
        extra: list[tuple[str, str]] | None = None,
    ) -> httpx.Response:
        wanted = {
            "authorization": f"bearer {self.token}",
            "apns-topic": self.standin.ready["topic"],
            "apns-push-type": "alert",
            **(headers or {}),
        }
        fields = [(name, value.encode()) for name, value in wanted.items() if value is not None] + (extra or [])
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.request(
            method, path or f"/3/device/{device or self.device}", headers=fields, content=content
        )


def der_token(sender: Sender) -> str:
    """Returns a provider token with a DER signature, as in Apple's sample."""
    signed = sender.token.rpartition(".")[0]
    key = serialization.load_pem_private_key(open(sender.key["keyFile"], "rb").read(), None)
    signature = base64.urlsafe_b64encode(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))).rstrip(b"=").decode()
    return f"{signed}.{signature}"


def with_token(text: Callable[[Sender], str]) -> Callable[[Sender], httpx.Response]:
    return lambda sender: sender.push({"authorization": f"bearer {text(sender)}"})


def then_with_token(text: Callable[[Sender], str]) -> Callable[[Sender], httpx.Response]:
    """Sends a valid push, then one with another token on the same connection."""

    def send(sender: Sender) -> httpx.Response:
        assert sender.push().status_code == 200
        return with_token(text)(sender)

    return send


def header(name: str, value: str | None) -> Callable[[Sender], httpx.Response]:
    return lambda sender: sender.push({name: value})


def body(value: Any, **headers: str) -> Callable[[Sender], httpx.Response]:
    return lambda sender: sender.push({name.replace("_", "-"): text for name, text in headers.items()}, value)


def aps(**members: Any) -> Callable[[Sender], httpx.Response]:
    return body({"aps": {"badge": 1, **{name.replace("_", "-"): value for name, value in members.items()}}})


def sized(length: int) -> bytes:
    empty = len(json.dumps({"aps": {"alert": ""}}))
    return json.dumps({"aps": {"alert": "x" * (length - empty)}}).encode()


def to_device(**order: Any) -> Callable[[Sender], httpx.Response]:
    return lambda sender: sender.push(device=sender.standin.device(**order))


def aged(sender: Sender) -> httpx.Response:
    sender.standin.post("/clock", {"advance": 3601})
    return sender.push()


def with_key(**order: Any) -> Callable[[Sender], str]:
    return lambda sender: sender.provider_token(sender.standin.post("/keys", order))


def topic_of_key(sender: Sender) -> httpx.Response:
    key = sender.standin.post("/keys", {"topics": ["com.example.other"]})
    return with_token(lambda _: sender.provider_token(key))(sender)


def too_many(sender: Sender) -> httpx.Response:
    for _ in range(4):
        assert sender.push().status_code == 200
    return sender.push()


BROKEN: list[tuple[str, Callable[[Sender], httpx.Response], int, str]] = [
    ("method-post", lambda sender: sender.push(method="PUT"), 405, "MethodNotAllowed"),
    ("path-form", lambda sender: sender.push(path="/3/devices/00"), 404, "BadPath"),
    ("device-token-present", lambda sender: sender.push(path="/3/device/"), 400, "MissingDeviceToken"),
    ("device-token-hexadecimal", lambda sender: sender.push(device="xyz0"), 400, "BadDeviceToken"),
    ("device-token-issued", lambda sender: sender.push(device="00" * 32), 400, "BadDeviceToken"),
    ("device-token-environment", to_device(environment="sandbox"), 400, "BadDeviceToken"),
    ("device-token-topic", to_device(topic="com.example.other"), 400, "DeviceTokenNotForTopic"),
    ("authorization-present", header("authorization", None), 403, "MissingProviderToken"),
    ("authorization-present", header("authorization", ""), 403, "MissingProviderToken"),
    ("authorization-bearer", header("authorization", "key abc"), 403, "MissingProviderToken"),
    ("provider-token-readable", with_token(lambda _: "abc"), 403, "InvalidProviderToken"),
    (
        "provider-token-algorithm",
        with_token(lambda sender: sender.provider_token(algorithm="HS256")),
        403,
        "InvalidProviderToken",
    ),
    (
        "provider-token-signature",
        with_token(lambda sender: sender.token[:-8] + "AAAAAAAA"),
        403,
        "InvalidProviderToken",
    ),
    ("provider-token-signature-form", with_token(der_token), 403, "InvalidProviderToken"),
    (
        "provider-token-identifiers",
        with_token(lambda sender: sender.provider_token(iss="SHORT")),
        403,
        "InvalidProviderToken",
    ),
    (
        "provider-token-team",
        with_token(lambda sender: sender.provider_token(iss="AAAAAAAAA1")),
        403,
        "InvalidProviderToken",
    ),
    (
        "provider-token-issue-time",
        with_token(lambda sender: sender.provider_token(iat="now")),
        403,
        "InvalidProviderToken",
    ),
    (
        "provider-token-issue-time",
        with_token(lambda sender: sender.provider_token(iat=time.time() + 3700)),
        403,
        "InvalidProviderToken",
    ),
    ("provider-token-age", aged, 403, "ExpiredProviderToken"),
    (
        "provider-token-renewal",
        then_with_token(lambda sender: sender.provider_token(iat=time.time() - 5)),
        429,
        "TooManyProviderTokenUpdates",
    ),
    ("key-environment", with_token(with_key(environment="sandbox", related=True)), 403, "BadEnvironmentKeyIdInToken"),
    ("key-related", then_with_token(with_key()), 403, "UnrelatedKeyIdInToken"),
    ("connection-team", then_with_token(with_key(team="other")), 403, "InvalidProviderToken"),
    ("headers-once", lambda sender: sender.push(extra=[("apns-topic", "com.example.chat")]), 400, "DuplicateHeaders"),
    ("topic-present", header("apns-topic", None), 400, "MissingTopic"),
    ("topic-form", header("apns-topic", "com example"), 400, "BadTopic"),
    ("topic-form", header("apns-topic", ""), 400, "BadTopic"),
    ("topic-owned", header("apns-topic", "com.example.foreign"), 400, "TopicDisallowed"),
    ("topic-owned", topic_of_key, 400, "TopicDisallowed"),
    ("apns-id-form", header("apns-id", "7"), 400, "BadMessageId"),
    ("apns-id-lower-case", header("apns-id", "ABCDEF00-0000-0000-0000-000000000000"), 400, "BadMessageId"),
    ("expiration-form", header("apns-expiration", "-1"), 400, "BadExpirationDate"),
    ("expiration-form", header("apns-expiration", "1.5"), 400, "BadExpirationDate"),
    ("priority-value", header("apns-priority", "7"), 400, "BadPriority"),
    ("collapse-id-length", header("apns-collapse-id", "x" * 65), 400, "BadCollapseId"),
    ("push-type-known", header("apns-push-type", "message"), 400, "InvalidPushType"),
    ("push-type-present", header("apns-push-type", None), 400, "InvalidPushType"),
    ("push-type-topic", header("apns-topic", "com.example.chat.voip"), 400, "InvalidPushType"),
    ("push-type-topic", header("apns-push-type", "voip"), 400, "BadTopic"),
    ("background-priority", body(SILENT, apns_push_type="background"), 400, "BadPriority"),
    (
        "push-type-priority",
        body(
            ALERT,
            apns_push_type="liveactivity",
            apns_topic="com.example.chat.push-type.liveactivity",
            apns_priority="1",
        ),
        400,
        "BadPriority",
    ),
    (
        "push-to-talk-delivery",
        body(SILENT, apns_push_type="pushtotalk", apns_topic="com.example.chat.voip-ptt"),
        400,
        "BadExpirationDate",
    ),
    ("payload-present", body(b""), 400, "PayloadEmpty"),
    ("payload-size", body(sized(4097)), 413, "PayloadTooLarge"),
    (
        "payload-size",
        body(sized(5121), apns_push_type="voip", apns_topic="com.example.chat.voip"),
        413,
        "PayloadTooLarge",
    ),
    ("payload-uncompressed", header("content-encoding", "identity"), 400, "PayloadEmpty"),
    ("payload-json", body(b"{"), 400, "BadRequestPayload"),
    ("payload-json", body([]), 400, "BadRequestPayload"),
    ("payload-aps", body({"own": 1}), 400, "BadRequestPayload"),
    ("aps-types", aps(badge="1"), 400, "BadRequestPayload"),
    ("aps-types", aps(mutable_content=True), 400, "BadRequestPayload"),
    ("alert-types", aps(alert={"body": 1}), 400, "BadRequestPayload"),
    ("alert-types", aps(alert={"loc-args": "x"}), 400, "BadRequestPayload"),
    ("sound-types", aps(sound={"critical": 1, "name": "a", "volume": 2}), 400, "BadRequestPayload"),
    ("interruption-level", aps(interruption_level="loud"), 400, "BadRequestPayload"),
    ("relevance-score", aps(relevance_score=1.5), 400, "BadRequestPayload"),
    (
        "background-payload",
        lambda sender: sender.push(BACKGROUND, {"aps": {"content-available": 1, "badge": 1}}),
        400,
        "InvalidPushType",
    ),
    ("alert-payload", body({"aps": {"thread-id": "a"}}), 400, "InvalidPushType"),
    ("pushes-in-a-row", too_many, 429, "TooManyRequests"),
]


@pytest.mark.parametrize(
    ("rule", "send", "status", "reason"), BROKEN, ids=[f"{case[0]}-{number}" for number, case in enumerate(BROKEN)]
)
def test_each_rule_violation_is_refused(
    apns: StandIn, rule: str, send: Callable[[Sender], httpx.Response], status: int, reason: str
) -> None:
    answer = send(Sender(apns))
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)
    assert answer.headers["content-type"] == "application/json" and uuid.UUID(answer.headers["apns-id"])
    assert apns.broken() == [rule]


@pytest.mark.parametrize(
    "send",
    [
        lambda sender: sender.push(),
        lambda sender: sender.push({"apns-priority": "1", "apns-expiration": "0", "x-unknown": "1"}),
        lambda sender: sender.push({"apns-collapse-id": "é" * 32}),
        lambda sender: sender.push(BACKGROUND, SILENT),
        lambda sender: sender.push(body={"aps": {"badge": 0}}),
        lambda sender: sender.push(body=sized(4096)),
        lambda sender: sender.push(
            {"apns-push-type": "voip", "apns-topic": "com.example.chat.voip"},
            {"call": 1},
            sender.standin.device(topic="com.example.chat.voip"),
        ),
    ],
)
def test_valid_pushes_are_accepted(apns: StandIn, send: Callable[[Sender], httpx.Response]) -> None:
    answer = send(Sender(apns))
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["apns-id"] == apns.received()[0]["id"]
    assert apns.broken() == [] and apns.noticed() == []


def test_a_repeated_push_is_recorded_each_time(apns: StandIn) -> None:
    sender, id = Sender(apns), str(uuid.uuid4())
    for _ in range(2):
        assert sender.push({"apns-id": id, "apns-collapse-id": "c"}).headers["apns-id"] == id
    first, second = apns.received()
    assert (first["number"], second["number"]) == (1, 2)
    assert first["token"] == sender.device and first["payload"] == ALERT and first["id"] == id
    assert first["headers"]["apns-collapse-id"] == "c" and "authorization" not in first["headers"]
    assert apns.get("/received?after=1") == {"notifications": [second], "next": 2}
    assert apns.get("/counts")["received"] == 2


@pytest.mark.parametrize(
    ("reason", "rule"), [("Unregistered", "device-unregistered"), ("ExpiredToken", "device-expired")]
)
def test_unregistered_devices_return_410(apns: StandIn, reason: str, rule: str) -> None:
    sender = Sender(apns)
    apns.post("/devices/dead", {"tokens": [sender.device], "since": 1700000000000, "reason": reason})
    answer = sender.push()
    assert answer.status_code == 410 and answer.json() == {"reason": reason, "timestamp": 1700000000000}
    assert apns.undelivered() == [rule] and apns.broken() == []
    sender.push()
    assert apns.noticed() == ["final-answer-repeated"]


def test_a_provider_token_can_be_renewed_after_twenty_minutes(apns: StandIn) -> None:
    sender = Sender(apns)
    assert sender.push().status_code == 200
    apns.post("/clock", {"advance": 1201})
    sender.token = sender.provider_token(iat=time.time() + 1201)
    assert sender.push().status_code == 200


NOTICED = [
    ("own-keys-in-aps", aps(own=1)),
    ("mutable-content-alert", aps(mutable_content=1)),
    ("expiration-past", header("apns-expiration", "300")),
]


@pytest.mark.parametrize(("rule", "send"), NOTICED)
def test_problems_of_accepted_pushes_are_noticed(
    apns: StandIn, rule: str, send: Callable[[Sender], httpx.Response]
) -> None:
    assert send(Sender(apns)).status_code == 200
    assert apns.noticed() == [rule]


def test_too_many_background_pushes_are_noticed(apns: StandIn) -> None:
    sender = Sender(apns)
    for _ in range(4):
        assert sender.push(BACKGROUND, SILENT).status_code == 200
    assert apns.noticed() == ["background-rate"]


def test_a_connection_for_each_push_is_noticed(apns: StandIn) -> None:
    for _ in range(3):
        sender = Sender(apns)
        sender.push()
        sender.client.close()
    time.sleep(0.05)
    assert set(apns.noticed()) == {"connection-per-push"}


def test_an_early_retry_is_noticed(apns: StandIn) -> None:
    apns.post("/faults", {"faults": [{"kind": "status", "status": 503, "reason": "Shutdown"}]})
    sender = Sender(apns)
    answer = sender.push()
    assert (answer.status_code, answer.json()) == (503, {"reason": "Shutdown"})
    assert sender.push().status_code == 200
    assert apns.noticed() == ["server-error-retry"]


def fields(sender: Sender, **changes: str) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", f"/3/device/{sender.device}"),
        (":authority", "localhost"),
        ("authorization", f"bearer {sender.token}"),
        ("apns-topic", sender.standin.ready["topic"]),
        ("apns-push-type", "alert"),
        *changes.items(),
    ]


def raw(standin: StandIn) -> RawConnection:
    return RawConnection(standin.endpoint, standin.ready["authority"])


def request(connection: RawConnection, stream: int, headers: list[tuple[str, str]]) -> bytes:
    return connection.headers(stream, headers) + frame(DATA, END_STREAM, stream, json.dumps(ALERT).encode())


@pytest.mark.parametrize("spoilt", [{"Upper": "1"}, {"connection": "close"}, {":path": "/"}])
def test_malformed_http2_resets_the_stream(apns: StandIn, spoilt: dict[str, str]) -> None:
    connection = raw(apns)
    connection.send(request(connection, 1, fields(Sender(apns), **spoilt)))
    assert connection.until(RST_STREAM)[3] == b"\0\0\0\x01"
    assert apns.broken() == ["malformed-http2"]
    connection.close()


def test_a_wrong_content_length_ends_the_connection(apns: StandIn) -> None:
    connection = raw(apns)
    connection.send(request(connection, 1, fields(Sender(apns), **{"content-length": "1"})))
    assert connection.until(GOAWAY)[3][4:8] == b"\0\0\0\x01"
    assert apns.broken() == ["malformed-http2"]
    connection.close()


def test_only_one_stream_is_allowed_until_the_first_success(apns: StandIn) -> None:
    connection, sender = raw(apns), Sender(apns)
    connection.until(SETTINGS)
    connection.send(frame(SETTINGS, ACK, 0, b""))
    connection.send(connection.headers(1, fields(sender)) + request(connection, 3, fields(sender)))
    assert connection.until(RST_STREAM, 3)[3] == b"\0\0\0\x07"
    assert apns.broken() == ["stream-limit"]
    connection.send(frame(DATA, END_STREAM, 1, json.dumps(ALERT).encode()))
    assert int.from_bytes(connection.until(SETTINGS)[3][2:6]) == 500
    connection.close()


def test_streams_before_the_settings_acknowledgment_are_noticed(apns: StandIn) -> None:
    connection, sender = raw(apns), Sender(apns)
    connection.send(connection.headers(1, fields(sender)) + request(connection, 3, fields(sender)))
    connection.until(RST_STREAM, 3)
    assert apns.noticed() == ["stream-before-settings"] and apns.broken() == []
    connection.close()


def test_priority_frames_are_noticed(apns: StandIn) -> None:
    connection, sender = raw(apns), Sender(apns)
    connection.send(frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") + request(connection, 1, fields(sender)))
    connection.until(HEADERS)
    assert apns.noticed() == ["priority-frame"]
    connection.close()


def test_http1_is_refused(apns: StandIn) -> None:
    with pytest.raises(httpx.TransportError):
        apns.client(http2=False).get("/")
    assert apns.broken() == ["http2-only"]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
