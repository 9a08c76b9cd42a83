"""Mi Push: valid messages are accepted, and one request violates each rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from conftest import StandIn, untested

from standins.xiaomi_rules import RULES

PRIVATE = {
    "extra.channel_id": "100",
    "extra.template_id": "P1",
    "extra.template_param": json.dumps({"title": "Room", "text": "Hello"}),
}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.client = standin.client()
        self.device = standin.device()

    def send(
        self,
        form: dict[str, str | None] | None = None,
        path: str = "/v3/message/regid",
        authorization: str | None = None,
        json: Any = None,
    ) -> httpx.Response:
        wanted = {
            "registration_id": self.device,
            "restricted_package_name": self.standin.ready["packageName"],
            "title": "Room",
            "description": "Hello",
            "extra.channel_id": "200",
            **(form or {}),
        }
        data = {name: value for name, value in wanted.items() if value is not None}
        headers = {"authorization": authorization or "key=" + self.standin.ready["appSecret"]}
        if json is not None:
            return self.client.post(path, json=json, headers=headers)
        return self.client.post(path, data=data, headers=headers)


@pytest.fixture
def xiaomi(started: Callable[..., StandIn]) -> StandIn:
    return started("xiaomi")


def form(**members: str | None) -> Send:
    return lambda sender: sender.send({name.replace("__", "."): value for name, value in members.items()})


def fields(members: dict[str, str | None]) -> Send:
    return lambda sender: sender.send(members)


def template(**parameters: str) -> Send:
    return fields({**PRIVATE, "extra.template_param": json.dumps(parameters)})


def revoke(version: int = 3, **members: str) -> Send:
    def send(sender: Sender) -> httpx.Response:
        wanted = {"registration_ids": sender.device, "notify_id": "7", **members}
        return sender.send(wanted, f"/v{version}/message/regid/revoke")

    return send


BROKEN: list[tuple[str, Send, int]] = [
    ("form", lambda sender: sender.send(json={}), 10008),
    ("authorization", lambda sender: sender.send(authorization="key=wrong"), 21301),
    ("authorization", lambda sender: sender.send(authorization="Key=" + sender.standin.ready["appSecret"]), 21301),
    ("package-present", form(restricted_package_name=None), 10016),
    ("package-known", form(restricted_package_name="com.example.foreign"), 22022),
    (
        "one-package",
        lambda sender: sender.send({"restricted_package_name": "com.example.scrollback,a"}, "/v2/message/regid"),
        10017,
    ),
    ("registration-present", form(registration_id=""), 10016),
    ("registration-count", form(registration_id=",".join(["a"] * 1001)), 10017),
    ("title-and-description", form(title=" "), 10016),
    ("title-length", form(title="漢" * 50), 10017),
    ("description-length", form(description="x" * 128), 10017),
    ("pass-through", form(pass_through="2"), 10017),
    ("notify-type", form(notify_type="8"), 10017),
    ("notify-id", form(notify_id=str(2**31)), 10017),
    ("time-to-live", form(time_to_live="1d"), 10017),
    ("payload-encoded", form(payload='{"a":1}'), 10017),
    ("payload-size", form(payload="x" * 4097), 65009),
    ("extra-count", fields({f"extra.own{number}": "x" for number in range(11)}), 65014),
    ("extra-size", form(extra__own="x" * 1025), 65015),
    ("channel-present", form(extra__channel_id=None), 27001),
    ("channel-known", form(extra__channel_id="300"), 27001),
    ("template-present", form(extra__channel_id="100"), 10017),
    ("template-parameters", template(title="Room"), 10017),
    ("template-parameters", template(title="Room", text="Hello 😀"), 10017),
    ("template-parameters", template(title="Room", text="x" * 129), 10017),
    ("notify-effect", form(extra__notify_effect="2"), 10017),
    ("callback", form(extra__callback="here"), 65038),
    ("callback-parameter", fields({"extra.callback.param": "x" * 257}), 65036),
    ("jobkey", form(extra__jobkey="_a"), 10017),
    ("token-issued", form(registration_id="unknown"), 20301),
    ("token-region", lambda sender: sender.send({"registration_id": sender.standin.device(region="india")}), 20301),
    ("revoke-parameters", revoke(notify_id="x"), 10016),
]


@pytest.mark.parametrize(("rule", "send", "code"), BROKEN)
def test_each_rule_violation_is_refused(xiaomi: StandIn, rule: str, send: Send, code: int) -> None:
    answer = send(Sender(xiaomi))
    assert (answer.status_code, answer.json()["code"], answer.json()["result"]) == (200, code, "error")
    assert xiaomi.broken() == [rule]


@pytest.mark.parametrize(
    ("rule", "send"),
    [("path-known", lambda sender: sender.send(path="/v1/message/regid")), ("revoke-version", revoke(version=2))],
)
def test_unknown_paths_are_refused(xiaomi: StandIn, rule: str, send: Send) -> None:
    assert send(Sender(xiaomi)).status_code == 404
    assert xiaomi.broken() == [rule]


def test_limits_are_enforced(started: Callable[..., StandIn]) -> None:
    standin = started("xiaomi", dailyQuota=1, requestsPerSecond=2)
    sender = Sender(standin)
    assert [sender.send().json()["code"] for _ in range(3)] == [0, 200001, 200002]
    assert standin.broken() == ["daily-quota", "flow-control"]


@pytest.mark.parametrize(
    "send",
    [
        form(),
        fields(PRIVATE),
        form(title="漢" * 49, description="x" * 127, notify_id="7", time_to_live="999999999999"),
        form(pass_through="1", title=None, description=None, payload=quote('{"a":1}', safe="")),
        lambda sender: sender.send({"extra.own": "x"}, "/v2/message/regid"),
    ],
)
def test_valid_messages_are_accepted(xiaomi: StandIn, send: Send) -> None:
    answer = send(Sender(xiaomi)).json()
    assert (answer["code"], answer["result"]) == (0, "ok"), answer
    assert xiaomi.received()[0]["id"] == answer["data"]["id"] and xiaomi.broken() == []


def test_the_payload_is_decoded(xiaomi: StandIn) -> None:
    Sender(xiaomi).send({"payload": quote('{"a":"漢 b"}', safe="")})
    assert xiaomi.received()[0]["payload"]["payload"] == '{"a":"漢 b"}'


def test_invalid_ids_are_reported_as_partial_success(xiaomi: StandIn) -> None:
    sender, dead = Sender(xiaomi), xiaomi.device()
    xiaomi.post("/devices/dead", {"tokens": [dead]})
    answer = sender.send({"registration_id": f"{sender.device},{dead}"}).json()
    assert (answer["code"], answer["data"]["bad_regids"]) == (0, dead)
    assert xiaomi.undelivered() == ["device-unregistered"] and xiaomi.broken() == []


def test_revocations_are_recorded(xiaomi: StandIn) -> None:
    sender = Sender(xiaomi)
    assert revoke()(sender).json()["code"] == 0
    assert [(entry["token"], entry["notification"]) for entry in xiaomi.get("/revoked")] == [(sender.device, 7)]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
