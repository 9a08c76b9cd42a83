"""Huawei Push Kit v1 and v2: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import StandIn, untested

from standins.huawei_rules import RULES

SHOWN = {"title": "Room", "body": "Hello", "click_action": {"type": 3}}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.app = standin.ready
        self.client = standin.client()
        self.device = standin.device()

    def token(self, app: dict[str, str] | None = None, **changes: str) -> httpx.Response:
        app = app or self.app
        form = {
            "grant_type": "client_credentials",
            "client_id": app["clientID"],
            "client_secret": app["clientSecret"],
            **changes,
        }
        return self.client.post(self.app["tokenEndpoint"], data=form)

    def send(
        self,
        message: dict[str, Any] | None = None,
        body: Any = None,
        path: str | None = None,
        authorization: str | None = None,
        content_type: str = "application/json;charset=UTF-8",
        **more: Any,
    ) -> httpx.Response:
        if authorization is None:
            authorization = "Bearer " + self.token().json()["access_token"]
        if body is None:
            body = {"message": {"token": [self.device], **(message or {"data": "x"})}, **more}
        headers = {"authorization": authorization, "content-type": content_type}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path or f"/v1/{self.app['clientID']}/messages:send", content=content, headers=headers)


@pytest.fixture
def huawei(started: Callable[..., StandIn]) -> StandIn:
    return started("huawei", testMessagesADay=1)


def message(**members: Any) -> Send:
    return lambda sender: sender.send(members)


def android(**members: Any) -> Send:
    return lambda sender: sender.send({"data": "x", "android": members})


def shown(**members: Any) -> Send:
    """Returns a notification message with some members changed. None removes a member."""
    kept = {name: value for name, value in {**SHOWN, **members}.items() if value is not None}
    return lambda sender: sender.send({"android": {"notification": kept}})


def body(value: Any) -> Send:
    return lambda sender: sender.send(body=value)


def aged(sender: Sender) -> httpx.Response:
    authorization = "Bearer " + sender.token().json()["access_token"]
    sender.standin.post("/clock", {"advance": 3601})
    return sender.send(authorization=authorization)


def other_app(sender: Sender) -> httpx.Response:
    token = sender.token(sender.standin.post("/apps")).json()["access_token"]
    return sender.send(authorization="Bearer " + token)


def without_right(sender: Sender) -> httpx.Response:
    app = sender.standin.post("/apps", {"mayPush": False})
    token = sender.token(app).json()["access_token"]
    return sender.send(authorization="Bearer " + token, path=f"/v1/{app['clientID']}/messages:send")


def twice(sender: Sender) -> httpx.Response:
    test = android(target_user_type=1)
    assert test(sender).json()["code"] == "80000000"
    return test(sender)


BROKEN: list[tuple[str, Send, int, str]] = [
    ("content-type", lambda sender: sender.send(content_type="text/plain"), 400, "80100001"),
    ("authorization-present", lambda sender: sender.send(authorization=""), 401, "80200001"),
    ("authorization-bearer", lambda sender: sender.send(authorization="Bearer  a b"), 401, "80200001"),
    ("access-token-issued", lambda sender: sender.send(authorization="Bearer abc"), 401, "80200001"),
    ("access-token-client", other_app, 401, "80200001"),
    ("access-token-age", aged, 401, "80200003"),
    ("app-known", lambda sender: sender.send(path="/v1/0/messages:send"), 400, "80300002"),
    ("app-known", without_right, 400, "80300002"),
    ("json-form", body(b"{"), 400, "80100001"),
    ("json-form", body([]), 400, "80100001"),
    ("field-types", message(token="a"), 400, "80100001"),
    ("field-types", android(ttl=86400), 400, "80100001"),
    ("field-types", shown(notify_id="7"), 400, "80100001"),
    ("message-present", body({"mesage": {}}), 400, "80300010"),
    ("target-present", body({"message": {"data": "x", "token": []}}), 400, "80300010"),
    ("token-count", message(data="x", token=["a"] * 1001), 400, "80300010"),
    ("one-target", message(data="x", topic="t"), 400, "80100003"),
    ("body-size", message(data="x" * 4096), 400, "80300008"),
    (
        "condition-topics",
        body({"message": {"data": "x", "condition": " || ".join(f"'{name}' in topics" for name in "abcdef")}}),
        400,
        "80100003",
    ),
    ("review-form", lambda sender: sender.send(review=[{"reviewer": "x"}]), 400, "80100003"),
    ("data-json", lambda sender: sender.send({"data": "x", "android": {"notification": SHOWN}}), 400, "80100003"),
    ("android-present", message(notification={"title": "a", "body": "b"}), 400, "80100003"),
    ("collapse-key", android(collapse_key=101), 400, "80100013"),
    ("collapse-key", android(collapse_key="1"), 400, "80100013"),
    ("ttl", android(ttl="1296001s"), 400, "80100003"),
    ("ttl", android(ttl="one day"), 400, "80100003"),
    ("urgency", android(urgency="LOW"), 400, "80100003"),
    ("category", android(category="im"), 400, "80100003"),
    ("fast-app-target", android(fast_app_target=3), 400, "80100003"),
    ("target-user-type", android(target_user_type=2), 400, "80100003"),
    ("title-and-body", shown(body=None), 400, "80100003"),
    ("click-action-present", shown(click_action=None), 400, "80100003"),
    ("click-action-type", shown(click_action={"type": 4}), 400, "80100003"),
    ("click-action-target", shown(click_action={"type": 1}), 400, "80100003"),
    ("click-action-target", shown(click_action={"type": 2, "url": "http://a"}), 400, "80100003"),
    ("importance", shown(importance="HIGH"), 400, "80300011"),
    ("importance", shown(importance="low"), 400, "80100003"),
    ("visibility", shown(visibility="HIDDEN"), 400, "80100003"),
    ("color", shown(color="red"), 400, "80100003"),
    ("sound", shown(default_sound=False), 400, "80100003"),
    ("style", shown(style=2), 400, "80100003"),
    ("style-parts", shown(style=1, big_title="a"), 400, "80100003"),
    ("style-parts", shown(style=3, inbox_content=["a"] * 6), 400, "80100003"),
    ("badge-range", shown(badge={"class": "a", "add_num": 100}), 400, "80100003"),
    ("badge-range", shown(badge={"class": "a", "set_num": -1}), 400, "80100003"),
    ("badge-class", shown(badge={"add_num": 1}), 400, "80100003"),
    ("image-https", shown(image="http://a"), 400, "80100003"),
    ("when", shown(when="now"), 400, "80100003"),
    ("localisation-arguments", shown(title_loc_args=["a"]), 400, "80100003"),
    ("languages", shown(multi_lang_key={"key": dict.fromkeys("abcd", "x")}), 400, "80100003"),
    ("vibration", shown(vibrate_config=["1"] * 11), 400, "80100003"),
    ("vibration", shown(vibrate_config=["61"]), 400, "80100003"),
    ("light-settings", shown(light_settings={"color": {}}), 400, "80100003"),
    ("buttons", shown(buttons=[{"name": "a", "action_type": 0}] * 4), 400, "80100003"),
    ("buttons", shown(buttons=[{"name": "a", "action_type": 4}]), 400, "80100003"),
    ("profile-id", shown(profile_id="x" * 65), 400, "80100003"),
    ("auto-clear", shown(auto_clear=0), 400, "80100003"),
    ("token-issued", message(data="x", token=["unknown"]), 400, "80300007"),
    ("test-messages", twice, 400, "80100001"),
]


@pytest.mark.parametrize(("rule", "send", "status", "code"), BROKEN)
def test_each_rule_violation_is_refused(huawei: StandIn, rule: str, send: Send, status: int, code: str) -> None:
    answer = send(Sender(huawei))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert huawei.broken() == [rule]


@pytest.mark.parametrize("changes", [{"client_id": "0"}, {"client_secret": "0"}, {"grant_type": "password"}])
def test_bad_token_requests_are_refused(huawei: StandIn, changes: dict[str, str]) -> None:
    answer = Sender(huawei).token(**changes)
    assert answer.status_code == 400 and answer.json()["error_description"]
    assert huawei.broken() == ["token-request"]


def test_unknown_paths_are_refused(huawei: StandIn) -> None:
    assert Sender(huawei).send(path="/v3/1/messages:send").status_code == 404
    assert huawei.broken() == ["path-known"]


def test_flow_control_returns_503(started: Callable[..., StandIn]) -> None:
    standin = started("huawei", requestsPerSecond=1)
    sender = Sender(standin)
    assert sorted(sender.send().status_code for _ in range(2)) == [200, 503]
    assert standin.broken() == ["flow-control"]


@pytest.mark.parametrize(
    "send",
    [
        message(data="x"),
        shown(badge={"class": "a", "add_num": 1}, notify_id=7, importance="LOW", unknown=1),
        android(collapse_key=0, ttl="86400s", urgency="HIGH", category="IM"),
        lambda sender: sender.send(path=f"/v2/{sender.app['projectID']}/messages:send"),
        body({"message": {"data": "x", "topic": "news"}}),
    ],
)
def test_valid_messages_are_accepted(huawei: StandIn, send: Send) -> None:
    answer = send(Sender(huawei)).json()
    assert answer["code"] == "80000000", answer
    assert huawei.received()[0]["id"] == answer["requestId"] and huawei.broken() == []


def test_invalid_tokens_are_reported_as_partial_success(huawei: StandIn) -> None:
    sender = Sender(huawei)
    good, dead = huawei.device(), huawei.device()
    huawei.post("/devices/dead", {"tokens": [dead]})
    answer = sender.send({"data": "x", "token": [good, dead, "unknown", good]}).json()
    assert answer["code"] == "80100000"
    assert json.loads(answer["msg"]) == {"success": 2, "failure": 2, "illegal_tokens": [dead, "unknown"]}
    assert [entry["token"] for entry in huawei.received()] == [good, good]
    assert huawei.broken() == ["token-issued"] and huawei.undelivered() == ["device-unregistered"]


def test_validate_only_delivers_nothing(huawei: StandIn) -> None:
    assert Sender(huawei).send(validate_only=True).json()["code"] == "80000000"
    assert huawei.received() == []


def test_the_slash_of_a_token_is_escaped(huawei: StandIn) -> None:
    answer = Sender(huawei).token()
    assert b"\\/" in answer.content and "/" in answer.json()["access_token"]
    assert huawei.get("/counts")["tokensIssued"] == 1


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
