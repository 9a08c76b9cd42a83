"""vivo Push: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import StandIn, untested

from standins.vivo_rules import RULES

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.client = standin.client()
        self.device = standin.device()

    def sign(self, without: str = "", **changes: Any) -> httpx.Response:
        ready, timestamp = self.standin.ready, changes.get("timestamp", int(time.time() * 1000))
        signed = f"{ready['appID']}{ready['appKey']}{timestamp}{ready['appSecret']}"
        body = {
            "appId": ready["appID"],
            "appKey": ready["appKey"],
            "timestamp": timestamp,
            "sign": hashlib.md5(signed.encode()).hexdigest(),
            **changes,
        }
        body.pop(without, None)
        return self.client.post("/message/auth", json=body)

    def send(self, body: Any = None, path: str = "/message/send", **headers: str | None) -> httpx.Response:
        wanted = {"content-type": "application/json;charset=UTF-8", **headers}
        if "authToken" not in wanted:
            wanted["authToken"] = self.sign().json()["authToken"]
        if body is None or isinstance(body, dict):
            message = {
                "regId": self.device,
                "requestId": str(uuid.uuid4()),
                "title": "Room",
                "content": "Hello there",
                "notifyType": 1,
                "skipType": 1,
                **(body or {}),
            }
            body = json.dumps({name: value for name, value in message.items() if value is not None}).encode()
        fields = {name: value for name, value in wanted.items() if value is not None}
        return self.client.post(path, content=body, headers=fields)


@pytest.fixture
def vivo(started: Callable[..., StandIn]) -> StandIn:
    standin = started("vivo", categories={"IM": 1, "NEWS": 0})
    standin.post("/clock", {"advance": 2})
    return standin


def sign(**changes: Any) -> Send:
    return lambda sender: sender.sign(**changes)


def body(**members: Any) -> Send:
    return lambda sender: sender.send(members)


def extra(**members: str) -> Send:
    return body(extra={name.replace("_", "."): value for name, value in members.items()})


def aged(sender: Sender) -> httpx.Response:
    token = sender.sign().json()["authToken"]
    sender.standin.post("/clock", {"advance": 24 * 3600 + 1})
    return sender.send(authToken=token)


def many_signs(sender: Sender) -> httpx.Response:
    return [sender.sign() for _ in range(11)][-1]


BROKEN: list[tuple[str, Send, int]] = [
    ("sign-app-id-present", sign(without="appId"), 10200),
    ("sign-app-id-known", sign(appId=1), 10205),
    ("sign-app-key-present", sign(without="appKey"), 10201),
    ("sign-app-key-known", sign(appKey="x"), 10202),
    ("sign-timestamp-present", sign(without="timestamp"), 10203),
    ("sign-timestamp", sign(timestamp=int((time.time() - 700) * 1000)), 10207),
    ("sign-present", sign(without="sign"), 10204),
    ("sign-value", sign(sign="x"), 10206),
    ("sign-rate", many_signs, 10093),
    ("auth-token-present", lambda sender: sender.send(authToken=None), 10000),
    ("auth-token-issued", lambda sender: sender.send(authToken="x"), 10000),
    ("auth-token-age", aged, 10000),
    ("app-id", body(appId=1), 10094),
    ("target-present", body(regId=None), 10050),
    ("registration-form", body(regId="1"), 10302),
    ("registration-issued", body(regId="1" * 23), 10302),
    ("alias-length", body(alias="x" * 41), 10301),
    ("request-id-present", body(requestId=None), 10352),
    ("request-id-length", body(requestId="x" * 65), 10353),
    ("title-present", body(title=" "), 10055),
    ("title-length", body(title="漢" * 21), 10056),
    ("content-present", body(content=""), 10057),
    ("content-length", body(content="x" * 101), 10058),
    ("notify-type", body(notifyType=None), 10054),
    ("skip-type", body(skipType=5), 10060),
    ("skip-content", body(skipType=2), 10061),
    ("skip-content", body(skipType=2, skipContent="x" * 1001), 10062),
    ("skip-content", body(skipType=3), 10063),
    ("skip-content", body(skipType=4, skipContent="x" * 1025), 10069),
    ("time-to-live", body(timeToLive=59), 10059),
    ("time-to-live", body(timeToLive=604801), 10059),
    ("network-type", body(networkType=2), 10065),
    ("custom-map-count", body(clientCustomMap={str(number): "x" for number in range(11)}), 10066),
    ("custom-map-size", body(clientCustomMap={"a": "x" * 1024}), 10067),
    ("custom-map-size", body(clientCustomMap={"a": 1}), 10067),
    ("classification", body(classification=2), 11000),
    ("callback-length", extra(callback="x" * 129), 10305),
    ("callback-parameter-length", extra(callback_param="x" * 65), 10306),
    ("extra-known", extra(other="x"), 10304),
    ("category", body(category="im"), 10096),
    ("category", body(category="OTHER"), 10096),
    ("category-class", body(category="IM", classification=0), 10097),
    ("notify-id", body(notifyId=0), 10095),
]


@pytest.mark.parametrize(("rule", "send", "code"), BROKEN)
def test_each_rule_violation_is_refused(vivo: StandIn, rule: str, send: Send, code: int) -> None:
    answer = send(Sender(vivo))
    assert (answer.status_code, answer.json()["result"]) == (200, code)
    assert vivo.broken() == [rule]


@pytest.mark.parametrize(
    ("rule", "send", "status"),
    [
        ("path-known", lambda sender: sender.send(path="/message/other"), 404),
        ("content-type", lambda sender: sender.send(**{"content-type": "text/plain"}), 400),
        ("json-form", lambda sender: sender.send(b"[]"), 400),
    ],
)
def test_refusals_by_status(vivo: StandIn, rule: str, send: Send, status: int) -> None:
    assert send(Sender(vivo)).status_code == status
    assert vivo.broken() == [rule]


@pytest.mark.parametrize(
    ("settings", "send", "rule", "code"),
    [
        ({"refuseTestTexts": True}, body(title="test 测试"), "test-text", 10104),
        ({"dailyQuota": 1}, lambda sender: [sender.send() for _ in range(2)][1], "daily-quota", 10070),
        ({"requestsPerSecond": 1}, lambda sender: [sender.send() for _ in range(2)][1], "flow-control", 10072),
    ],
)
def test_settings_can_forbid_messages(
    started: Callable[..., StandIn], settings: dict[str, Any], send: Send, rule: str, code: int
) -> None:
    standin = started("vivo", **settings)
    assert send(Sender(standin)).json()["result"] == code
    assert standin.broken() == [rule]


def test_operational_messages_at_night_are_refused(started: Callable[..., StandIn]) -> None:
    standin = started("vivo", nightHours=True)
    sender = Sender(standin)
    hour = time.gmtime(time.time() + 8 * 3600).tm_hour
    standin.post("/clock", {"advance": (24 - hour) % 24 * 3600})
    token = sender.sign(timestamp=standin.post("/clock")["now"]).json()["authToken"]
    assert sender.send(authToken=token).json()["result"] == 10071
    assert sender.send({"classification": 1}, authToken=token).json()["result"] == 0
    assert standin.broken() == ["night-hours"]


@pytest.mark.parametrize(
    "send",
    [
        body(),
        body(notifyType="4", timeToLive=86400, notifyId=7, category="IM", classification=1),
        body(title="漢" * 20, skipType=4, skipContent="a://b", clientCustomMap={"a": "b"}, appId=None),
        body(regId=None, alias="somebody"),
        extra(callback="https://a", callback_param="x"),
    ],
)
def test_valid_messages_are_accepted(vivo: StandIn, send: Send) -> None:
    answer = send(Sender(vivo)).json()
    assert answer["result"] == 0, answer
    assert vivo.received()[0]["id"] == answer["taskId"] and vivo.broken() == []


@pytest.mark.parametrize(
    ("rule", "dead", "members", "result", "status"),
    [("device-unregistered", True, {}, 10302, 2), ("device-not-test", False, {"pushMode": 1}, 0, 4)],
)
def test_unreachable_devices_are_reported(
    vivo: StandIn, rule: str, dead: bool, members: dict[str, int], result: int, status: int
) -> None:
    sender = Sender(vivo)
    if dead:
        vivo.post("/devices/dead", {"tokens": [sender.device]})
    answer = sender.send(members).json()
    assert (answer["result"], answer["invalidUser"]) == (result, {"status": status, "userid": sender.device})
    assert vivo.undelivered() == [rule] and vivo.broken() == [] and vivo.received() == []


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
