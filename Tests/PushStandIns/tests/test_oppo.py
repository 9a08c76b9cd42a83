"""OPPO Push: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import StandIn, untested

from standins.oppo_rules import RULES

UNICAST = "/server/v1/message/notification/unicast"
SHOWN = {"title": "Room", "content": "Hello"}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.client = standin.client()
        self.device = standin.device()

    def sign(self, without: str = "", **changes: str) -> httpx.Response:
        ready, timestamp = self.standin.ready, changes.get("timestamp", str(int(time.time() * 1000)))
        sign = hashlib.sha256((ready["appKey"] + timestamp + ready["masterSecret"]).encode()).hexdigest()
        form = {"app_key": ready["appKey"], "timestamp": timestamp, "sign": sign, **changes}
        form.pop(without, None)
        return self.client.post("/server/v1/auth", data=form)

    def message(self, notification: Any = None, **members: Any) -> dict[str, Any]:
        return {
            "target_type": 2,
            "target_value": self.device,
            "notification": SHOWN if notification is None else notification,
            **members,
        }

    def send(self, form: dict[str, str] | None = None, path: str = UNICAST, method: str = "POST") -> httpx.Response:
        token = self.sign().json()["data"]["auth_token"]
        data = {"auth_token": token, "message": json.dumps(self.message()), **(form or {})}
        return self.client.request(method, path, data=data)

    def batch(self, *messages: Any) -> httpx.Response:
        return self.send({"messages": json.dumps(messages)}, UNICAST + "_batch")


@pytest.fixture
def oppo(started: Callable[..., StandIn]) -> StandIn:
    return started("oppo", categories=["IM", "NEWS"], privateTemplates=["T1"])


def sign(**changes: str) -> Send:
    return lambda sender: sender.sign(**changes)


def message(**members: Any) -> Send:
    return lambda sender: sender.send({"message": json.dumps(sender.message(**members))})


def shown(**members: Any) -> Send:
    return message(notification={**SHOWN, **members})


def aged(sender: Sender) -> httpx.Response:
    token = sender.sign().json()["data"]["auth_token"]
    sender.standin.post("/clock", {"advance": 24 * 3600 + 1})
    return sender.client.post(UNICAST, data={"auth_token": token, "message": json.dumps(sender.message())})


def upper_case_sign(sender: Sender) -> httpx.Response:
    ready, timestamp = sender.standin.ready, str(int(time.time() * 1000))
    digest = hashlib.sha256((ready["appKey"] + timestamp + ready["masterSecret"]).encode()).hexdigest()
    return sender.sign(timestamp=timestamp, sign=digest.upper())


def overseas(sender: Sender) -> httpx.Response:
    return message(target_value=sender.standin.device(overseas=True))(sender)


BROKEN: list[tuple[str, Send, int]] = [
    ("method-post", lambda sender: sender.send(method="PUT"), 12),
    ("path-known", lambda sender: sender.send(path="/server/v1/message"), 20),
    ("sign-app-key-present", sign(without="app_key"), 15),
    ("sign-app-key-known", sign(app_key="x"), 14),
    ("sign-present", sign(without="sign"), 17),
    ("sign-value", upper_case_sign, 16),
    ("sign-timestamp-present", sign(without="timestamp"), 18),
    ("sign-timestamp", sign(timestamp="1"), 19),
    ("sign-timestamp", sign(timestamp=str(int((time.time() - 700) * 1000))), 19),
    ("form", lambda sender: sender.client.post(UNICAST, json={}), 25),
    ("auth-token-present", lambda sender: sender.send({"auth_token": ""}), 29),
    ("auth-token-issued", lambda sender: sender.send({"auth_token": "x"}), 11),
    ("auth-token-age", aged, 11),
    ("message-present", lambda sender: sender.send({"message": ""}), 40),
    ("message-json", lambda sender: sender.send({"message": "{"}), 41),
    ("message-parts", message(target_value=""), 40),
    ("target-type", message(target_type=3), 41),
    ("target-value", message(target_value="a;b"), 10000),
    ("target-value", message(target_value="xyz"), 10000),
    ("title-and-content", shown(title=""), 40),
    ("title-length", shown(title="x" * 51), 41),
    ("sub-title-length", shown(sub_title="x" * 11), 41),
    ("content-length", shown(content="x" * 51), 41),
    ("content-length", shown(content="x" * 129, style=2), 41),
    ("style", shown(style=4), 41),
    ("single-picture", shown(style=3), 27),
    ("click-action", shown(click_action_type=3), 41),
    ("click-action", shown(click_action_type=2), 40),
    ("click-activity-length", shown(click_action_activity="x" * 501), 41),
    ("click-url-length", shown(click_action_url="x" * 2001), 41),
    ("action-parameters", shown(action_parameters="x"), 41),
    ("off-line-ttl", shown(off_line_ttl=-1), 41),
    ("callback", shown(call_back_url="x" * 201), 41),
    ("notify-level-category", shown(notify_level=2), 67),
    ("notify-level", shown(notify_level=3, category="NEWS"), 67),
    ("category", shown(category="OTHER"), 67),
    ("private-template", shown(category="IM"), 41),
    ("show-time", shown(show_time_type=1), 41),
    ("notify-id", shown(notify_id="7"), 41),
    ("field-types", shown(title=1), 41),
    ("batch-count", lambda sender: sender.batch(), 41),
    ("token-region", overseas, 10000),
    ("token-issued", message(target_value="0" * 32), 10000),
]


@pytest.mark.parametrize(("rule", "send", "code"), BROKEN)
def test_each_rule_violation_is_refused(oppo: StandIn, rule: str, send: Send, code: int) -> None:
    answer = send(Sender(oppo))
    assert (answer.status_code, answer.json()["code"]) == (200, code)
    assert oppo.broken() == [rule]


def test_limits_are_enforced(started: Callable[..., StandIn]) -> None:
    standin = started("oppo", dailyLimit=1, requestsPerSecond=2)
    sender = Sender(standin)
    assert [sender.send().json()["code"] for _ in range(3)] == [0, 33, 13]
    assert standin.broken() == ["daily-limit", "flow-control"]


@pytest.mark.parametrize(
    "send",
    [
        message(),
        shown(content="x" * 128, style=2, notify_id=7, off_line_ttl=900000),
        shown(category="IM", private_msg_template_id="T1", notify_level=2),
        shown(clickActionType=1, clickActionActivity="a", actionParameters='{"a":1}'),
        message(target_type=5, target_value="alias"),
        lambda sender: sender.batch(sender.message()),
    ],
)
def test_valid_messages_are_accepted(oppo: StandIn, send: Send) -> None:
    answer = send(Sender(oppo)).json()
    assert answer["code"] == 0, answer
    data = answer["data"][0] if isinstance(answer["data"], list) else answer["data"]
    assert oppo.received()[0]["id"] == data["messageId"] and oppo.broken() == []


def test_a_batch_reports_each_malformed_message(oppo: StandIn) -> None:
    sender = Sender(oppo)
    answer = sender.batch(sender.message(), sender.message(target_value="xyz")).json()
    assert answer["code"] == 0
    assert [entry.get("errorCode") for entry in answer["data"]] == [None, 10000]
    assert oppo.broken() == ["target-value"]


def test_unregistered_devices_are_accepted_and_not_recorded(oppo: StandIn) -> None:
    sender = Sender(oppo)
    oppo.post("/devices/dead", {"tokens": [sender.device]})
    assert sender.send().json()["code"] == 0
    assert oppo.received() == [] and oppo.undelivered() == ["device-unregistered"]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
