"""Honor Push: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import StandIn, untested

from standins.honor_rules import RULES

SHOWN = {"title": "Room", "body": "Hello", "clickAction": {"type": 3}}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.app = standin.ready
        self.client = standin.client()
        self.device = standin.device()

    def token(self, app: dict[str, str] | None = None, path: str | None = None, **changes: str) -> httpx.Response:
        app = app or self.app
        form = {
            "grant_type": "client_credentials",
            "client_id": app["clientID"],
            "client_secret": app["clientSecret"],
            **changes,
        }
        return self.client.post(path or self.app["tokenEndpoint"], data=form)

    def send(self, body: Any = None, path: str | None = None, **headers: str | None) -> httpx.Response:
        wanted = {
            "authorization": "Bearer " + self.token().json()["access_token"],
            "content_type": "application/json; charset=UTF-8",
            "timestamp": str(int(time.time() * 1000)),
            **headers,
        }
        fields = {name.replace("_", "-"): value for name, value in wanted.items() if value is not None}
        if body is None or isinstance(body, dict):
            body = {"token": [self.device], "android": {"notification": SHOWN}, **(body or {})}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path or f"/api/v1/{self.app['appID']}/sendMessage", content=content, headers=fields)


@pytest.fixture
def honor(started: Callable[..., StandIn]) -> StandIn:
    return started("honor", testMessagesADay=1)


def body(value: Any) -> Send:
    return lambda sender: sender.send(value)


def header(**changes: str | None) -> Send:
    return lambda sender: sender.send(**changes)


def android(**members: Any) -> Send:
    return body({"android": {"notification": SHOWN, **members}})


def shown(**members: Any) -> Send:
    kept = {name: value for name, value in {**SHOWN, **members}.items() if value is not None}
    return body({"android": {"notification": kept}})


def aged(sender: Sender) -> httpx.Response:
    authorization = "Bearer " + sender.token().json()["access_token"]
    sender.standin.post("/clock", {"advance": 3601})
    return sender.send(authorization=authorization)


def other_app(sender: Sender) -> httpx.Response:
    token = sender.token(sender.standin.post("/apps")).json()["access_token"]
    return sender.send(authorization="Bearer " + token)


def second_test_message(sender: Sender) -> httpx.Response:
    assert android(targetUserType=1)(sender).json()["code"] == 200
    return android(targetUserType=1)(sender)


def twice(sender: Sender) -> httpx.Response:
    return sender.send({"token": [sender.device, sender.device]})


BROKEN: list[tuple[str, Send, int, int]] = [
    ("path-known", lambda sender: sender.send(path="/api/v2/x/sendMessage"), 404, 404),
    ("authorization-present", header(authorization=None), 403, 403),
    ("authorization-bearer", header(authorization="abc"), 403, 403),
    ("access-token-issued", header(authorization="Bearer abc"), 403, 403),
    ("access-token-age", aged, 403, 403),
    ("access-token-client", other_app, 403, 403),
    ("timestamp-present", header(timestamp=None), 200, 10001),
    ("timestamp-form", header(timestamp="1"), 200, 10207),
    ("timestamp-form", header(timestamp=str(int((time.time() - 700) * 1000))), 200, 10207),
    ("app-known", lambda sender: sender.send(path="/api/v1/0/sendMessage"), 200, 10205),
    ("content-type", header(content_type="text/plain"), 400, 400),
    ("json-form", body(b"{"), 400, 400),
    ("token-present", body({"token": []}), 200, 10300),
    ("token-count", body({"token": [str(number) for number in range(1001)]}), 200, 80300010),
    ("token-duplicate", twice, 200, 80300006),
    ("body-size", shown(body="x" * 4096), 200, 80300008),
    ("huawei-names", body({"message": {}}), 200, 80100003),
    ("huawei-names", shown(click_action={"type": 3}), 200, 80100003),
    ("field-types", shown(title=1), 200, 80100003),
    ("content-present", body({"android": {}}), 200, 80100003),
    ("title-and-body", shown(title=None), 200, 80100003),
    ("click-action-present", shown(clickAction=None), 200, 80100003),
    ("click-action-type", shown(clickAction={"type": 4}), 200, 80100003),
    ("click-action-target", shown(clickAction={"type": 2, "url": "http://a"}), 200, 80100003),
    ("importance", shown(importance="HIGH"), 200, 80100003),
    ("image-https", shown(image="http://a"), 200, 80100003),
    ("image-marketing", shown(image="https://a", importance="LOW"), 200, 80200050),
    ("ttl", android(ttl="86400"), 200, 80100003),
    ("ttl", android(ttl="1296001s"), 200, 80100003),
    ("target-user-type", android(targetUserType=2), 200, 80100003),
    ("style", shown(style=3), 200, 80100003),
    ("style-parts", shown(style=1), 200, 80100003),
    ("buttons", shown(buttons=[{"name": "a", "actionType": 0}] * 4), 200, 80100003),
    ("badge-range", shown(badge={"addNum": 0}), 200, 80100003),
    ("notify-id", shown(notifyId="7"), 200, 80100003),
    ("token-issued", body({"token": ["unknown"]}), 200, 80300007),
    ("test-messages", second_test_message, 200, 80200047),
]


@pytest.mark.parametrize(("rule", "send", "status", "code"), BROKEN)
def test_each_rule_violation_is_refused(honor: StandIn, rule: str, send: Send, status: int, code: int) -> None:
    answer = send(Sender(honor))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert honor.broken() == [rule]


def test_bad_token_requests_are_refused(honor: StandIn) -> None:
    answer = Sender(honor).token(client_secret="0")
    assert (answer.status_code, answer.json()["error"]) == (400, "unauthorized_client")
    assert honor.broken() == ["token-request"]


def test_settings_can_forbid_messages(started: Callable[..., StandIn]) -> None:
    standin = started("honor", serviceRight=False, requestsPerSecond=1)
    sender = Sender(standin)
    assert shown(importance="NORMAL")(sender).json()["code"] == 80200022
    assert sender.send().status_code == 503
    assert standin.broken() == ["importance-right", "flow-control"]


@pytest.mark.parametrize(
    "send",
    [
        body({}),
        body({"data": "x", "android": {}}),
        shown(notifyId=7, badge={"setNum": 0}, importance="NORMAL", image="https://a"),
        android(ttl="1296000s"),
        lambda sender: sender.send(authorization="Bearer " + sender.token(path="/auth/token").json()["access_token"]),
    ],
)
def test_valid_messages_are_accepted(honor: StandIn, send: Send) -> None:
    answer = send(Sender(honor)).json()
    assert (answer["code"], answer["data"]["sendResult"]) == (200, True)
    assert honor.received()[0]["id"] == answer["data"]["requestId"] and honor.broken() == []


def test_invalid_tokens_are_reported_as_partial_success(honor: StandIn) -> None:
    sender, dead = Sender(honor), honor.device()
    honor.post("/devices/dead", {"tokens": [dead]})
    answer = sender.send({"token": [sender.device, dead, "unknown"]}).json()
    assert answer["code"] == 80100000
    assert (answer["data"]["failTokens"], answer["data"]["expireTokens"]) == ([dead, "unknown"], [dead])
    assert honor.undelivered() == ["device-unregistered"] and honor.broken() == ["token-issued"]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
