"""Web Push: valid pushes are accepted and decrypted, and one request violates each rule."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Callable
from typing import Any

import http_ece
import httpx
import jwt
import pytest
from conftest import StandIn, untested
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from standins.keys import decode, encode, p256, point
from standins.webpush_encryption import Receiver
from standins.webpush_rules import RULES

TEXT = b'{"title":"Room","body":"Hello"}'

Send = Callable[["Sender"], httpx.Response]


def encrypt(subscription: dict[str, str], text: bytes = TEXT, salt: bytes | None = None, key: Any = None) -> bytes:
    return http_ece.encrypt(
        text,
        salt=salt or os.urandom(16),
        private_key=key or p256(),
        dh=decode(subscription["p256dh"]),
        auth_secret=decode(subscription["auth"]),
        version="aes128gcm",
    )


def encrypt_by_hand(subscription: dict[str, str], plaintext: bytes) -> bytes:
    """Encrypts one record; the plaintext already has its delimiter."""

    def derive(key: bytes, data: bytes) -> bytes:
        return hmac.new(key, data, hashlib.sha256).digest()

    sender, receiver, salt = p256(), decode(subscription["p256dh"]), os.urandom(16)
    public = point(sender.public_key())
    secret = sender.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver))
    key = derive(decode(subscription["auth"]), secret)
    key = derive(key, b"WebPush: info\0" + receiver + public + b"\1")
    key = derive(salt, key)
    content_key = derive(key, b"Content-Encoding: aes128gcm\0\1")[:16]
    nonce = derive(key, b"Content-Encoding: nonce\0\1")[:12]
    return salt + (4096).to_bytes(4) + b"\x41" + public + AESGCM(content_key).encrypt(nonce, plaintext, None)


class Sender:
    """A correct application server; each test changes one aspect."""

    def __init__(self, standin: StandIn, http2: bool = False) -> None:
        self.standin = standin
        self.key = p256()
        self.public = encode(point(self.key.public_key()))
        self.subscription = standin.device(applicationServerKey=self.public)
        self.client = standin.client(http2)

    def token(self, key: Any = None, algorithm: str = "ES256", without: str = "", **changes: Any) -> str:
        claims = {"aud": self.standin.endpoint, "exp": int(time.time()) + 43200, "sub": "mailto:push@example.com"}
        claims |= changes
        claims.pop(without, None)
        return jwt.PyJWS().encode(json.dumps(claims).encode(), key or self.key, algorithm)

    def vapid(self, token: str | None = None, key: str | None = None) -> str:
        return f"vapid t={token or self.token()}, k={key or self.public}"

    def push(
        self,
        headers: dict[str, str | None] | None = None,
        body: bytes | None = None,
        subscription: dict[str, str] | None = None,
        method: str = "POST",
        extra: list[tuple[str, str]] | None = None,
    ) -> httpx.Response:
        subscription = subscription or self.subscription
        wanted = {"TTL": "60", "Content-Encoding": "aes128gcm", "Authorization": self.vapid(), **(headers or {})}
        fields = [(name, value) for name, value in wanted.items() if value is not None] + (extra or [])
        content = encrypt(subscription) if body is None else body
        return self.client.request(method, subscription["endpoint"], headers=fields, content=content)


@pytest.fixture
def webpush(started: Callable[..., StandIn]) -> StandIn:
    return started("webpush", pushesPerMinute=3)


@pytest.fixture
def apple(started: Callable[..., StandIn]) -> StandIn:
    return started("webpush", profile="apple")


def header(name: str, value: str | None) -> Send:
    return lambda sender: sender.push({name: value})


def with_token(**changes: Any) -> Send:
    return lambda sender: sender.push({"Authorization": sender.vapid(sender.token(**changes))})


def with_body(change: Callable[[bytes], bytes]) -> Send:
    return lambda sender: sender.push(body=change(encrypt(sender.subscription)))


def put(at: int, value: bytes) -> Send:
    """Returns a body with some bytes overwritten."""
    return with_body(lambda body: body[:at] + value + body[at + len(value) :])


def der_token(sender: Sender) -> httpx.Response:
    signed = sender.token().rpartition(".")[0]
    signature = encode(sender.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return sender.push({"Authorization": sender.vapid(f"{signed}.{signature}")})


def other_key(sender: Sender) -> httpx.Response:
    key = p256()
    return sender.push({"Authorization": sender.vapid(sender.token(key=key), encode(point(key.public_key())))})


def same_key(sender: Sender) -> httpx.Response:
    return sender.push(body=encrypt(sender.subscription, key=sender.key))


def reused(**fixed: Any) -> Send:
    def send(sender: Sender) -> httpx.Response:
        assert sender.push(body=encrypt(sender.subscription, b"first", **fixed)).status_code == 201
        return sender.push(body=encrypt(sender.subscription, b"second", **fixed))

    return send


def too_many(sender: Sender) -> httpx.Response:
    return [sender.push() for _ in range(4)][-1]


BROKEN: list[tuple[str, Send, int]] = [
    (
        "subscription-issued",
        lambda sender: sender.push(subscription={**sender.subscription, "endpoint": "/push/x"}),
        404,
    ),
    ("method-post", lambda sender: sender.push(method="PUT"), 405),
    ("ttl-present", header("TTL", None), 400),
    ("ttl-form", header("TTL", "-1"), 400),
    ("ttl-form", header("TTL", "1.5"), 400),
    ("urgency-once", lambda sender: sender.push(extra=[("Urgency", "low"), ("Urgency", "high")]), 400),
    ("urgency-once", header("Urgency", "low, high"), 400),
    ("urgency-value", header("Urgency", "urgent"), 400),
    ("topic-form", header("Topic", "x" * 33), 400),
    ("topic-form", header("Topic", "a.b"), 400),
    ("topic-empty", header("Topic", ""), 400),
    ("content-encoding", header("Content-Encoding", None), 400),
    ("content-encoding", header("Content-Encoding", "aesgcm"), 400),
    ("content-encoding", header("Content-Encoding", "aes128gcm, gzip"), 400),
    (
        "receipt-link",
        lambda sender: sender.push(
            {"Prefer": "respond-async", "Link": '</receipt/x>; rel="urn:ietf:params:push:receipt"'}
        ),
        400,
    ),
    ("authorization-present", header("Authorization", None), 401),
    ("authorization-scheme", lambda sender: sender.push({"Authorization": "WebPush " + sender.token()}), 401),
    ("vapid-parameters", lambda sender: sender.push({"Authorization": "vapid t=" + sender.token()}), 403),
    ("vapid-key-form", lambda sender: sender.push({"Authorization": sender.vapid(key=sender.public + "=")}), 403),
    (
        "vapid-key-form",
        lambda sender: sender.push({"Authorization": sender.vapid(key=encode(b"\4" + b"\0" * 64))}),
        403,
    ),
    ("vapid-token-readable", lambda sender: sender.push({"Authorization": sender.vapid("abc")}), 403),
    ("vapid-algorithm", with_token(key="a secret of thirty-two bytes or more", algorithm="HS256"), 403),
    ("vapid-signature-form", der_token, 403),
    ("vapid-signature", with_token(key=p256()), 403),
    ("vapid-expiry-present", with_token(without="exp"), 403),
    ("vapid-expiry-present", with_token(exp="soon"), 403),
    ("vapid-expired", with_token(exp=int(time.time()) - 1), 403),
    ("vapid-lifetime", lambda sender: with_token(exp=int(time.time()) + 86402)(sender), 403),
    ("vapid-audience", with_token(aud="https://push.example.net"), 403),
    ("vapid-audience", with_token(without="aud"), 403),
    ("vapid-audience-form", lambda sender: with_token(aud=sender.standin.endpoint + "/")(sender), 403),
    ("vapid-subject", with_token(without="sub"), 403),
    ("vapid-subject", with_token(sub="push@example.com"), 403),
    ("vapid-key-bound", other_key, 403),
    ("vapid-key-distinct", same_key, 400),
    ("body-size", lambda sender: sender.push(body=encrypt(sender.subscription, b"x" * 3993) + b"x"), 413),
    ("body-length", with_body(lambda body: body[:102]), 400),
    ("key-id-form", put(20, b"\x40"), 400),
    ("key-id-form", put(21, b"\x03"), 400),
    ("key-id-point", put(22, b"\1" * 64), 400),
    ("record-size-minimum", put(16, (17).to_bytes(4)), 400),
    ("single-record", put(16, (40).to_bytes(4)), 400),
    ("decryption", put(90, b"\0\0\0\0"), 400),
    ("delimiter", lambda sender: sender.push(body=encrypt_by_hand(sender.subscription, TEXT + b"\1")), 400),
    ("delimiter", lambda sender: sender.push(body=encrypt_by_hand(sender.subscription, b"\0" * 9)), 400),
    ("salt-fresh", reused(salt=b"0123456789abcdef"), 400),
    ("key-fresh", reused(key=p256()), 400),
    ("notification-options", lambda sender: sender.push(body=encrypt(sender.subscription, b'{"silent":"true"}')), 400),
    ("notification-options", lambda sender: sender.push(body=encrypt(sender.subscription, b'{"tag":17}')), 400),
    ("push-rate", too_many, 429),
]


@pytest.mark.parametrize(("rule", "send", "status"), BROKEN)
def test_each_rule_violation_is_refused(webpush: StandIn, rule: str, send: Send, status: int) -> None:
    answer = send(Sender(webpush))
    assert answer.status_code == status
    assert webpush.broken() == [rule]
    assert answer.headers.get("retry-after") == ("60" if status == 429 else None)


@pytest.mark.parametrize(
    ("rule", "send", "reason"),
    [
        ("ttl-positive", header("TTL", "0"), "BadTtl"),
        ("vapid-subject-real", with_token(sub="mailto:x@localhost"), "BadJwtToken"),
    ],
)
def test_the_apple_profile_has_additional_rules(apple: StandIn, rule: str, send: Send, reason: str) -> None:
    assert send(Sender(apple)).json() == {"reason": reason}
    assert apple.broken() == [rule]


def test_the_mozilla_profile_has_its_own_responses(started: Callable[..., StandIn]) -> None:
    mozilla = started("webpush", profile="mozilla")
    answer = header("TTL", "x")(Sender(mozilla))
    assert (answer.status_code, answer.json()["errno"]) == (400, 112)
    answer = with_token(without="exp")(Sender(mozilla))
    assert (answer.status_code, answer.json()["errno"]) == (401, 109)


@pytest.mark.parametrize(
    "send",
    [
        lambda sender: sender.push(),
        lambda sender: sender.push({"TTL": "0", "Urgency": "high", "Topic": "room7", "X-Unknown": "1"}),
        lambda sender: sender.push({"Content-Encoding": None}, body=b""),
        lambda sender: sender.push({"Authorization": None}, subscription=sender.standin.device()),
        lambda sender: sender.push({"Authorization": sender.vapid() + ", realm=x"}),
        lambda sender: sender.push({"Authorization": sender.vapid(sender.token(exp=int(time.time()) + 86400))}),
        lambda sender: sender.push(body=encrypt(sender.subscription, b"x" * 3993)),
        lambda sender: sender.push(
            body=encrypt(
                sender.subscription, b'{"tag":"a","image":"https://example.com/a.png","silent":true,"badge":7}'
            )
        ),
    ],
)
def test_valid_pushes_are_accepted(webpush: StandIn, send: Send) -> None:
    answer = send(Sender(webpush))
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == webpush.endpoint + webpush.received()[0]["id"]
    assert webpush.broken() == [] and webpush.noticed() == []


def test_the_payload_is_decrypted(webpush: StandIn) -> None:
    sender = Sender(webpush, http2=True)
    assert sender.push().http_version == "HTTP/2"
    sender.push(body=encrypt(sender.subscription, b"plain text"))
    first, second = webpush.received()
    assert (first["payload"], second["payload"]) == (json.loads(TEXT), "plain text")
    assert first["token"] == sender.subscription["endpoint"]


def test_the_example_of_rfc_8291() -> None:
    body = decode(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y"
        "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    private = int.from_bytes(decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
    key = ec.derive_private_key(private, ec.SECP256R1())
    plaintext = Receiver().decrypt(body, key, decode("BTBZMqHH6r4Tts7J_aSIgg"), b"")
    assert plaintext == b"When I grow up, I want to be a watermelon"


def test_a_retry_with_the_same_bytes_is_accepted(webpush: StandIn) -> None:
    sender = Sender(webpush)
    body, token = encrypt(sender.subscription), sender.vapid()
    assert [sender.push({"Authorization": token}, body=body).status_code for _ in range(2)] == [201, 201]
    assert len(webpush.received()) == 2 and webpush.broken() == []


def test_topic_ttl_receipt_and_withdrawal_follow_rfc_8030(webpush: StandIn) -> None:
    sender = Sender(webpush)
    assert sender.push({"Topic": "a"}).status_code == 201
    answer = sender.push({"Topic": "a", "TTL": "9999999", "Prefer": "respond-async"})
    assert (answer.status_code, answer.headers["ttl"]) == (202, "2592000")
    assert answer.headers["link"].endswith('rel="urn:ietf:params:push:receipt"')
    assert sender.client.delete(answer.headers["location"]).status_code == 204
    assert [entry["replaces"] for entry in webpush.received()] == [None, 1]
    assert [entry["notification"] for entry in webpush.get("/revoked")] == [2]


@pytest.mark.parametrize(("order", "status"), [({}, 404), ({"status": 410}, 410)])
def test_ended_subscriptions_return_404_or_410(webpush: StandIn, order: dict[str, int], status: int) -> None:
    sender = Sender(webpush)
    webpush.post("/devices/dead", {"tokens": [sender.subscription], **order})
    assert sender.push().status_code == status
    assert webpush.undelivered() == ["subscription-gone"] and webpush.broken() == []


def test_problems_of_accepted_pushes_are_noticed(webpush: StandIn) -> None:
    sender = Sender(webpush)
    assert header("Topic", "a-b")(sender).status_code == 201
    webpush.post("/faults", {"faults": [{"kind": "status", "status": 429, "retryAfter": 60}]})
    answer = sender.push()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert with_token(exp=int(time.time()) + 4000)(sender).status_code == 201
    assert webpush.noticed() == ["topic-alphanumeric", "retry-too-soon", "vapid-token-reuse"]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
