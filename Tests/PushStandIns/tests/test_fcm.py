"""FCM: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from conftest import StandIn, untested
from cryptography.hazmat.primitives.asymmetric import rsa

from standins.fcm_rules import RULES

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
DATA = {"data": {"room": "7", "text": "Hello"}, "android": {"priority": "HIGH", "ttl": "3600s"}}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn, http2: bool = False) -> None:
        self.standin = standin
        self.account = json.loads(Path(standin.ready["serviceAccountFile"]).read_text())
        self.client = standin.client(http2)
        self.access_token = ""

    def assertion(self, algorithm: str = "RS256", key: Any = None, without: str | None = None, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.account["client_email"],
            "scope": SCOPE,
            "aud": self.account["token_uri"],
            "iat": now,
            "exp": now + 3600,
            **changes,
        }
        claims.pop(without, None)
        header = {"kid": self.account["private_key_id"]}
        return jwt.PyJWS().encode(json.dumps(claims).encode(), key or self.account["private_key"], algorithm, header)

    def token(self, assertion: str | None = None, grant: str = GRANT, **options: Any) -> httpx.Response:
        form = {"grant_type": grant, "assertion": assertion or self.assertion()}
        return self.client.post(self.account["token_uri"], **(options or {"data": form}))

    def send(
        self,
        message: dict[str, Any] | None = None,
        body: Any = None,
        path: str | None = None,
        method: str = "POST",
        headers: dict[str, str] | None = None,
        to: str | None = None,
        **more: Any,
    ) -> httpx.Response:
        if not self.access_token:
            self.access_token = self.token().json()["access_token"]
        if body is None:
            body = {"message": {"token": to or self.standin.device(), **(DATA if message is None else message)}, **more}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        wanted = {"authorization": f"Bearer {self.access_token}", "content-type": "application/json"} | (headers or {})
        path = path or f"/v1/projects/{self.account['project_id']}/messages:send"
        return self.client.request(method, path, content=content, headers=wanted)


@pytest.fixture
def fcm(started: Callable[..., StandIn]) -> StandIn:
    return started("fcm", devicePerMinute=25)


def assertion(**changes: Any) -> Send:
    return lambda sender: sender.token(sender.assertion(**changes))


TOKEN_BROKEN: list[tuple[str, Send, int, str]] = [
    ("token-method", lambda sender: sender.client.get("/token"), 405, "method_not_allowed"),
    ("token-form", lambda sender: sender.token(json={"grant_type": GRANT}), 400, "unsupported_grant_type"),
    ("token-grant-type", lambda sender: sender.token(grant="password"), 400, "unsupported_grant_type"),
    ("token-assertion", lambda sender: sender.token("a.b"), 400, "invalid_request"),
    ("token-assertion", lambda sender: sender.token("YQ.YQ.YQ"), 400, "invalid_grant"),
    ("token-algorithm", assertion(algorithm="HS256", key="a secret of thirty-two bytes or more"), 400, "invalid_grant"),
    ("token-encoding", lambda sender: sender.token(sender.assertion() + "="), 400, "invalid_grant"),
    ("token-signature", assertion(key=rsa.generate_private_key(65537, 2048)), 400, "invalid_grant"),
    ("token-issuer", assertion(iss="somebody@example.com"), 400, "invalid_grant"),
    ("token-audience", assertion(aud="https://example.com/token"), 400, "invalid_grant"),
    ("token-time-form", assertion(without="exp"), 400, "invalid_grant"),
    ("token-time-form", assertion(iat=str(int(time.time()))), 400, "invalid_grant"),
    ("token-lifetime", assertion(exp=int(time.time()) + 3900), 400, "invalid_grant"),
    ("token-expired", assertion(iat=int(time.time()) - 3700, exp=int(time.time()) - 100), 400, "invalid_grant"),
    ("token-issue-time", assertion(iat=int(time.time()) + 900), 400, "invalid_grant"),
    ("token-scope", assertion(without="scope"), 400, "invalid_scope"),
    ("token-scope", assertion(scope=f"{SCOPE},{SCOPE}"), 400, "invalid_scope"),
    ("token-subject", assertion(sub="user@example.com"), 401, "unauthorized_client"),
]


@pytest.mark.parametrize(("rule", "send", "status", "error"), TOKEN_BROKEN)
def test_each_token_rule_violation_is_refused(fcm: StandIn, rule: str, send: Send, status: int, error: str) -> None:
    answer = send(Sender(fcm))
    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert fcm.broken() == [rule]


def message(value: dict[str, Any], **more: Any) -> Send:
    return lambda sender: sender.send(value, **more)


def android(**members: Any) -> Send:
    return message({"data": {"a": "b"}, "android": members})


def shown(**members: Any) -> Send:
    return android(notification={"title": "Room", **members})


def target(**members: Any) -> Send:
    return lambda sender: sender.send(body={"message": {"data": {"a": "b"}, **members}})


def header(**changes: str) -> Send:
    return lambda sender: sender.send(headers={name.replace("_", "-"): value for name, value in changes.items()})


def to(value: dict[str, Any] | None = None, **order: Any) -> Send:
    return lambda sender: sender.send(value, to=sender.standin.device(**order))


def with_scope(sender: Sender) -> httpx.Response:
    scope = "https://www.googleapis.com/auth/userinfo.email"
    sender.access_token = sender.token(sender.assertion(scope=scope)).json()["access_token"]
    return sender.send()


def aged(sender: Sender) -> httpx.Response:
    sender.access_token = sender.token().json()["access_token"]
    sender.standin.post("/clock", {"advance": 3601})
    return sender.send()


def after_fault(fault: dict[str, Any]) -> Send:
    def send(sender: Sender) -> httpx.Response:
        device = sender.standin.device()
        sender.standin.post("/faults", {"faults": [{"kind": "status", **fault}]})
        assert sender.send(to=device).status_code == fault["status"]
        return sender.send(to=device)

    return send


def again_after_refusal(sender: Sender) -> httpx.Response:
    bad = {"message": {"topic": "no such/topic"}}
    assert sender.send(body=bad).status_code == 400
    sender.standin.post("/clock", {"advance": 3000})
    return sender.send(body=bad)


def too_many(sender: Sender) -> httpx.Response:
    device = sender.standin.device()
    for _ in range(25):
        assert sender.send(to=device).status_code == 200
    return sender.send(to=device)


BROKEN: list[tuple[str, Send, int, str]] = [
    ("path-known", lambda sender: sender.send(path="/v1/messages:send"), 404, ""),
    ("legacy-path", lambda sender: sender.send(path="/fcm/send"), 404, ""),
    ("method-post", lambda sender: sender.send(method="PUT"), 405, ""),
    ("authorization-present", header(authorization=""), 401, "UNAUTHENTICATED"),
    ("authorization-bearer", header(authorization="key=abc"), 401, "UNAUTHENTICATED"),
    ("access-token-issued", header(authorization="Bearer ya29.unknown"), 401, "UNAUTHENTICATED"),
    ("access-token-age", aged, 401, "UNAUTHENTICATED"),
    ("access-token-scope", with_scope, 403, "PERMISSION_DENIED"),
    ("project-allowed", lambda sender: sender.send(path="/v1/projects/other/messages:send"), 403, "PERMISSION_DENIED"),
    ("content-type", header(content_type="text/plain"), 400, "INVALID_ARGUMENT"),
    (
        "query-parameter",
        lambda sender: sender.send(path="/v1/projects/" + sender.account["project_id"] + "/messages:send?alt=xml"),
        400,
        "INVALID_ARGUMENT",
    ),
    ("json-form", lambda sender: sender.send(body=b"{"), 400, "INVALID_ARGUMENT"),
    ("json-form", lambda sender: sender.send(body=b'{"message":{},"message":{}}'), 400, "INVALID_ARGUMENT"),
    ("unknown-field", message({"foo": 1}), 400, "INVALID_ARGUMENT"),
    ("unknown-field", android(channel_id="c"), 400, "INVALID_ARGUMENT"),
    ("data-values", message({"data": {"a": 1}}), 400, "INVALID_ARGUMENT"),
    ("data-values", android(data={"a": {}}), 400, "INVALID_ARGUMENT"),
    ("header-values", message({"webpush": {"headers": {"TTL": 15}}}), 400, "INVALID_ARGUMENT"),
    ("field-type", android(ttl=3600), 400, "INVALID_ARGUMENT"),
    ("field-type", shown(sticky="yes"), 400, "INVALID_ARGUMENT"),
    ("field-type", shown(vibrate_timings="1s"), 400, "INVALID_ARGUMENT"),
    ("field-type", shown(notification_count=1.5), 400, "INVALID_ARGUMENT"),
    ("enum-value", android(priority="URGENT"), 400, "INVALID_ARGUMENT"),
    ("enum-value", shown(visibility="private"), 400, "INVALID_ARGUMENT"),
    ("duration-form", android(ttl="3600"), 400, "INVALID_ARGUMENT"),
    ("timestamp-form", shown(event_time="yesterday"), 400, "INVALID_ARGUMENT"),
    ("one-target", message({"topic": ""}), 400, "INVALID_ARGUMENT"),
    ("message-present", lambda sender: sender.send(body={}), 400, "INVALID_ARGUMENT"),
    ("target-present", target(), 400, "INVALID_ARGUMENT"),
    ("token-well-formed", target(token="not a token"), 400, "INVALID_ARGUMENT"),
    ("token-issued", target(token="abc:APA91bNever"), 404, "NOT_FOUND"),
    ("sender-id", to(project="other"), 403, "PERMISSION_DENIED"),
    ("package-name", android(restricted_package_name="com.example.foreign"), 400, "INVALID_ARGUMENT"),
    ("topic-form", target(topic="/topics/news"), 400, "INVALID_ARGUMENT"),
    ("condition-form", target(condition="'a' in topics &&"), 400, "INVALID_ARGUMENT"),
    ("condition-form", target(condition="'a' in topics) || ('b' in topics"), 400, "INVALID_ARGUMENT"),
    (
        "condition-topics",
        target(condition=" && ".join(f"'{name}' in topics" for name in "abcdef")),
        400,
        "INVALID_ARGUMENT",
    ),
    ("ttl-range", android(ttl="2419201s"), 400, "INVALID_ARGUMENT"),
    ("ttl-range", android(ttl="-1s"), 400, "INVALID_ARGUMENT"),
    ("reserved-data-key", message({"data": {"from": "x"}}), 400, "INVALID_ARGUMENT"),
    ("reserved-data-key", android(data={"gcm.notification.x": "x"}), 400, "INVALID_ARGUMENT"),
    ("payload-size", message({"data": {"a": "x" * 4089}}), 400, "INVALID_ARGUMENT"),
    ("topic-payload-size", target(topic="news", data={"a": "x" * 2041}), 400, "INVALID_ARGUMENT"),
    ("ios-background-priority", to({"data": {"a": "b"}}, platform="ios"), 400, "INVALID_ARGUMENT"),
    ("webpush-ttl", message({"webpush": {"headers": {"TTL": "-1"}}}), 400, "INVALID_ARGUMENT"),
    ("webpush-link", message({"webpush": {"fcm_options": {"link": "http://a"}}}), 400, "INVALID_ARGUMENT"),
    ("analytics-label", message({"fcm_options": {"analytics_label": "a b"}}), 400, "INVALID_ARGUMENT"),
    (
        "light-settings",
        shown(light_settings={"light_on_duration": "1s", "light_off_duration": "1s"}),
        400,
        "INVALID_ARGUMENT",
    ),
    (
        "light-settings",
        shown(light_settings={"color": {"red": 2}, "light_on_duration": "1s", "light_off_duration": "1s"}),
        400,
        "INVALID_ARGUMENT",
    ),
    ("color-form", shown(color="red"), 400, "INVALID_ARGUMENT"),
    ("localisation-arguments", shown(body_loc_args=["a"]), 400, "INVALID_ARGUMENT"),
    ("live-activity-token", target(apns={"live_activity_token": "abc"}), 400, "INVALID_ARGUMENT"),
    (
        "apns-headers",
        to({"notification": {"title": "a"}, "apns": {"headers": {"apns-collapse-id": "x" * 65}}}, platform="ios"),
        400,
        "INVALID_ARGUMENT",
    ),
    ("device-quota", too_many, 429, "RESOURCE_EXHAUSTED"),
    ("retry-too-soon", after_fault({"status": 503}), 429, "RESOURCE_EXHAUSTED"),
    ("retry-too-soon", after_fault({"status": 429, "retryAfter": 30}), 429, "RESOURCE_EXHAUSTED"),
    ("retry-of-final-answer", again_after_refusal, 429, "RESOURCE_EXHAUSTED"),
]


@pytest.mark.parametrize(("rule", "send", "status", "canonical"), BROKEN)
def test_each_rule_violation_is_refused(fcm: StandIn, rule: str, send: Send, status: int, canonical: str) -> None:
    answer = send(Sender(fcm))
    assert answer.status_code == status
    if canonical:
        error = answer.json()["error"]
        assert (error["code"], error["status"]) == (status, canonical)
    first = ["topic-form"] if rule == "retry-of-final-answer" else []
    assert fcm.broken() == [*first, rule]


def test_a_send_above_the_project_quota_is_refused(started: Callable[..., StandIn]) -> None:
    standin = started("fcm", projectPerMinute=2)
    sender = Sender(standin)
    assert [sender.send().status_code for _ in range(3)] == [200, 200, 429]
    assert standin.broken() == ["project-quota"]


@pytest.mark.parametrize(
    "send",
    [
        message({}),
        message({"notification": {"title": "a", "body": "b"}}),
        message({"data": {}}),
        android(ttl="0s", directBootOk=True, priority="high"),
        android(priority=2),
        shown(channelId="unknown", notification_count="3", color="#aabbcc", event_time="2026-01-01T00:00:00.5Z"),
        message({"name": "ignored", "data": {"a": "x" * 4088}}),
        target(topic="news"),
        target(condition="'a' in topics && ('b' in topics || !('c' in topics))"),
        to({"data": {"a": "b"}, "apns": {"headers": {"apns-priority": "5"}}}, platform="ios"),
        header(content_type="application/json;charset=utf-8", x_goog_api_format_version="2"),
        lambda sender: sender.send(path=f"/v1/projects/{sender.standin.ready['projectNumber']}/messages:send"),
    ],
)
def test_valid_messages_are_accepted(fcm: StandIn, send: Send) -> None:
    answer = send(Sender(fcm))
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"name": fcm.received()[0]["id"]}
    assert fcm.broken() == [] and fcm.noticed() == []


def test_messages_over_http2_are_accepted(fcm: StandIn) -> None:
    answer = Sender(fcm, http2=True).send()
    assert (answer.status_code, answer.http_version) == (200, "HTTP/2")


def test_the_token_response_has_the_documented_form(fcm: StandIn) -> None:
    answer = Sender(fcm).token().json()
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 3600)
    assert fcm.get("/counts")["tokensIssued"] == 1


def test_validate_only_delivers_nothing(fcm: StandIn) -> None:
    assert Sender(fcm).send(validate_only=True).status_code == 200
    assert fcm.received() == []


def test_unregistered_devices_return_404(fcm: StandIn) -> None:
    device = fcm.device()
    fcm.post("/devices/dead", {"tokens": [device]})
    answer = Sender(fcm).send(to=device)
    assert answer.status_code == 404
    assert answer.json()["error"]["details"][0]["errorCode"] == "UNREGISTERED"
    assert fcm.undelivered() == ["device-unregistered"] and fcm.broken() == []


def test_a_disabled_api_prevents_delivery(fcm: StandIn) -> None:
    fcm.post("/api", {"enabled": False})
    answer = Sender(fcm).send()
    assert answer.json()["error"]["details"][0]["reason"] == "SERVICE_DISABLED"
    assert fcm.undelivered() == ["api-disabled"]


@pytest.mark.parametrize(
    ("rule", "send"),
    [
        ("collapse-key-ignored", message({"notification": {"title": "a"}, "android": {"collapse_key": "c"}})),
        ("reserved-data-prefix", message({"data": {"google_x": "a"}})),
        ("image-address", message({"notification": {"title": "a", "image": "picture.png"}})),
        ("web-direction", message({"webpush": {"notification": {"dir": "up"}}})),
        ("access-token-reuse", lambda sender: [sender.token(), sender.token()][1]),
    ],
)
def test_problems_of_accepted_messages_are_noticed(fcm: StandIn, rule: str, send: Send) -> None:
    assert send(Sender(fcm)).status_code == 200
    assert fcm.noticed() == [rule]


def test_collapsible_messages_are_delayed(fcm: StandIn) -> None:
    sender, device = Sender(fcm), fcm.device()
    for _ in range(21):
        assert sender.send({"notification": {"title": "a"}}, to=device).status_code == 200
    assert [entry["delayed"] for entry in fcm.received()] == [False] * 20 + [True]
    assert fcm.noticed() == ["collapsible-burst"]


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429}, {"status": 429, "retryAfter": 20}])
def test_a_retry_after_the_wait_is_accepted(fcm: StandIn, fault: dict[str, Any]) -> None:
    sender, device = Sender(fcm), fcm.device()
    fcm.post("/faults", {"faults": [{"kind": "status", **fault}]})
    answer = sender.send(to=device)
    assert answer.headers.get("retry-after") == ("20" if "retryAfter" in fault else None)
    fcm.post("/clock", {"advance": 61})
    assert sender.send(to=device).status_code == 200
    assert fcm.broken() == []


def test_html_responses_and_token_faults_are_injected(fcm: StandIn) -> None:
    faults = [{"kind": "status", "status": 502}, {"kind": "status", "status": 503, "on": "token"}]
    fcm.post("/faults", {"faults": faults})
    sender = Sender(fcm)
    assert sender.token().json()["error"] == "internal_failure"
    answer = sender.send()
    assert (answer.status_code, answer.headers["content-type"]) == (502, "text/html; charset=UTF-8")


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
