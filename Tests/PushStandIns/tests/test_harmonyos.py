"""HarmonyOS Push Kit v3: valid messages are accepted, and one request violates each rule."""

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

from standins.harmonyos_rules import RULES

AUDIENCE = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
SHOWN = {"category": "IM", "title": "Room", "body": "Hello", "clickAction": {"actionType": 0}}

Send = Callable[["Sender"], httpx.Response]


class Sender:
    """A correct sender; each test changes one aspect."""

    def __init__(self, standin: StandIn) -> None:
        self.standin = standin
        self.app = standin.ready
        self.client = standin.client()
        self.device = standin.device()

    def token(
        self,
        app: dict[str, str] | None = None,
        algorithm: str = "PS256",
        key: Any = None,
        header: dict[str, str] | None = None,
        **changes: Any,
    ) -> str:
        account = json.loads(Path((app or self.app)["serviceAccountFile"]).read_text())
        now = int(time.time())
        claims = {"iss": account["sub_account"], "aud": AUDIENCE, "iat": now, "exp": now + 3600, **changes}
        header = {"kid": account["key_id"], "typ": "JWT", **(header or {})}
        return jwt.PyJWS().encode(json.dumps(claims).encode(), key or account["private_key"], algorithm, header)

    def send(
        self,
        payload: Any = None,
        push_type: str | None = "0",
        path: str | None = None,
        authorization: str | None = None,
        body: Any = None,
        tokens: list[str] | None = None,
        content_type: str = "application/json",
        **options: Any,
    ) -> httpx.Response:
        headers = {"authorization": authorization if authorization is not None else f"Bearer {self.token()}"}
        headers |= {"content-type": content_type} | ({"push-type": push_type} if push_type is not None else {})
        if body is None:
            target = {"token": [self.device] if tokens is None else tokens}
            body = {"payload": payload or {"notification": SHOWN}, "target": target, "pushOptions": options}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(path or f"/v3/{self.app['projectID']}/messages:send", content=content, headers=headers)

    def revoke(self, body: Any = None, push_type: str = "0", client: str | None = None) -> httpx.Response:
        path = f"/v1/{client or self.app['clientID']}/messages:revoke"
        return self.send(body=body or {"notifyId": 7, "token": [self.device]}, push_type=push_type, path=path)


@pytest.fixture
def harmonyos(started: Callable[..., StandIn]) -> StandIn:
    return started("harmonyos", rights=["0", "1", "2", "6", "10"], testMessagesADay=1)


def with_token(**options: Any) -> Send:
    return lambda sender: sender.send(authorization="Bearer " + sender.token(**options))


def shown(**members: Any) -> Send:
    """Returns an alert with some members changed. None removes a member."""
    kept = {name: value for name, value in {**SHOWN, **members}.items() if value is not None}
    return lambda sender: sender.send({"notification": kept})


def payload(value: dict[str, Any], push_type: str) -> Send:
    return lambda sender: sender.send(value, push_type)


def options(**members: Any) -> Send:
    return lambda sender: sender.send(**members)


def other_project(sender: Sender) -> httpx.Response:
    return with_token(app=sender.standin.post("/apps"))(sender)


def aged(sender: Sender) -> httpx.Response:
    token = sender.token()
    sender.standin.post("/clock", {"advance": 3601})
    return sender.send(authorization="Bearer " + token)


def second_test_message(sender: Sender) -> httpx.Response:
    assert sender.send(testMessage=True).json()["code"] == "80000000"
    return sender.send(testMessage=True)


def foreign_device(sender: Sender) -> httpx.Response:
    return sender.send(tokens=[sender.standin.device(app=sender.standin.post("/apps")["clientID"])])


def revoke_foreign(mixed: bool) -> Send:
    def send(sender: Sender) -> httpx.Response:
        foreign = sender.standin.device(app=sender.standin.post("/apps")["clientID"])
        return sender.revoke({"notifyId": 7, "token": [foreign, sender.device] if mixed else [foreign]})

    return send


NOW = int(time.time())
VOICE = {**SHOWN, "category": "PLAY_VOICE"}

BROKEN: list[tuple[str, Send, int, str]] = [
    ("content-type", options(content_type="text/plain"), 400, "80100003"),
    ("authorization-present", options(authorization=""), 401, "80200001"),
    ("authorization-bearer", options(authorization="Basic abc"), 401, "80200001"),
    ("token-readable", options(authorization="Bearer abc"), 401, "80200001"),
    ("token-algorithm", with_token(algorithm="RS256"), 401, "80200001"),
    ("token-type", with_token(header={"typ": "x"}), 401, "80200001"),
    ("token-key", with_token(header={"kid": "x"}), 401, "80200001"),
    ("token-signature", with_token(key=rsa.generate_private_key(65537, 2048)), 401, "80200001"),
    ("token-issuer", with_token(iss="x"), 401, "80200001"),
    ("token-audience", with_token(aud="https://example.com"), 401, "80200001"),
    ("token-times", with_token(iat="now"), 401, "80200001"),
    ("token-age", aged, 401, "80200005"),
    ("token-lifetime", with_token(iat=NOW, exp=NOW + 86401), 401, "80300036"),
    ("token-project", other_project, 401, "80200001"),
    ("push-type", lambda sender: sender.send(push_type=None), 400, "80100003"),
    ("push-type", lambda sender: sender.send(push_type="3"), 400, "80100003"),
    ("json-form", options(body=b"{"), 400, "80100003"),
    ("field-types", options(body={"payload": [], "target": {}}), 400, "80100003"),
    ("field-types", shown(clickAction={"actionType": 0, "data": "x"}), 400, "80100003"),
    ("payload-present", options(body={"target": {"token": ["a"]}}), 400, "80100003"),
    ("token-count", options(tokens=[]), 400, "80300010"),
    ("token-count", options(tokens=["a"] * 1001), 400, "80300010"),
    ("token-count", options(tokens=["a"] * 2, push_type="1"), 400, "80300010"),
    ("test-token-count", options(tokens=["a"] * 11, testMessage=True), 400, "80300030"),
    ("test-rate", second_test_message, 400, "80300029"),
    ("body-size", shown(body="x" * 4096), 400, "80300008"),
    ("category-present", shown(category=None), 400, "80100003"),
    ("title-and-body", shown(title=None), 400, "80100003"),
    ("title-and-body", payload({"notification": {"category": "IM", "badge": {"setNum": 1}}}, "0"), 400, "80100003"),
    ("click-action-present", shown(clickAction=None), 400, "80100003"),
    ("category", shown(category="im"), 400, "80100003"),
    ("play-voice", shown(category="PLAY_VOICE"), 400, "80300007"),
    ("badge-add", shown(badge={"addNum": 0}), 400, "80100003"),
    ("badge-set", shown(badge={"setNum": 100}), 400, "80100003"),
    ("ttl", options(ttl=0), 400, "80100003"),
    ("ttl", options(ttl="86400s"), 400, "80100003"),
    ("collapse-key", options(collapseKey=101), 400, "80100003"),
    ("background-mode", options(backgroundMode=2), 400, "80100003"),
    ("bi-tag", options(biTag="é" * 33), 400, "80100003"),
    ("profile-id", shown(profileId="x" * 65), 400, "80100003"),
    ("app-message-id", shown(appMessageId="a.b"), 400, "80100003"),
    ("notify-id", shown(notifyId=2**31), 400, "80100003"),
    ("style", shown(style=2), 400, "80100003"),
    ("style-parts", shown(style=3, inboxContent=["a"] * 4), 400, "80100003"),
    ("click-action-type", shown(clickAction={"actionType": 3}), 400, "80100003"),
    ("click-action-target", shown(clickAction={"actionType": 1}), 400, "80100003"),
    ("sound-duration", shown(sound="a.mp3", soundDuration=61), 400, "80100003"),
    ("image-https", shown(image="http://a"), 400, "80100003"),
    ("extra-data", payload({"notification": VOICE}, "2"), 400, "80100003"),
    ("extra-data", payload({}, "6"), 400, "80100003"),
    ("proxy-data", payload({"extraData": "x", "proxyData": "ON"}, "6"), 400, "80100003"),
    ("voice-category", payload({"notification": SHOWN, "extraData": "x"}, "2"), 400, "80100003"),
    ("form-parts", payload({"formId": 1}, "1"), 400, "80100003"),
    ("activity-parts", payload({"activityId": 1}, "7"), 400, "80100003"),
    (
        "type-right",
        payload({"activityId": 1, "operation": 0, "event": "TAXI", "activityData": {}}, "7"),
        400,
        "80300007",
    ),
    ("token-issued", options(tokens=["unknown"]), 400, "80300007"),
    ("token-of-project", foreign_device, 400, "80300007"),
    ("revoke-push-type", lambda sender: sender.revoke(push_type="6"), 400, "80100003"),
    ("revoke-token-count", lambda sender: sender.revoke({"notifyId": 7, "token": []}), 400, "80300010"),
    ("revoke-client", lambda sender: sender.revoke(client=sender.app["projectID"]), 400, "80300002"),
    ("revoke-one-app", revoke_foreign(mixed=True), 400, "80300017"),
    ("revoke-token-app", revoke_foreign(mixed=False), 400, "80300028"),
    ("revoke-notify-id", lambda sender: sender.revoke({"token": [sender.device]}), 400, "80300032"),
]


@pytest.mark.parametrize(("rule", "send", "status", "code"), BROKEN)
def test_each_rule_violation_is_refused(harmonyos: StandIn, rule: str, send: Send, status: int, code: str) -> None:
    answer = send(Sender(harmonyos))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert harmonyos.broken() == [rule]


def test_unknown_paths_are_refused(harmonyos: StandIn) -> None:
    assert Sender(harmonyos).send(path="/v1/1/messages:send").status_code == 404
    assert harmonyos.broken() == ["path-known"]


def test_flow_control_returns_503(started: Callable[..., StandIn]) -> None:
    standin = started("harmonyos", devicesPerSecond=1)
    sender = Sender(standin)
    assert sender.send(tokens=[sender.device] * 2).status_code == 503
    assert standin.broken() == ["flow-control"]


@pytest.mark.parametrize(
    "send",
    [
        shown(notifyId=7, badge={"addNum": 1}, style=3, inboxContent=["a"], unknown=1),
        shown(clickAction={"actionType": 1, "uri": "a", "data": {"room": 7}}),
        payload({"notification": {"badge": {"setNum": 99}}}, "0"),
        payload({"notification": VOICE, "extraData": "x"}, "2"),
        payload({"extraData": "x"}, "6"),
        payload({"extraData": "x"}, "10"),
        payload(
            {"formId": 1, "version": 1, "moduleName": "a", "formName": "a", "abilityName": "a", "formData": {}}, "1"
        ),
        options(ttl=1296000, collapseKey=0, biTag="x" * 64),
    ],
)
def test_valid_messages_are_accepted(harmonyos: StandIn, send: Send) -> None:
    answer = send(Sender(harmonyos)).json()
    assert answer["code"] == "80000000", answer
    assert harmonyos.received()[0]["id"] == answer["requestId"]
    assert harmonyos.broken() == [] and harmonyos.noticed() == []


def test_invalid_tokens_are_reported_as_partial_success(harmonyos: StandIn) -> None:
    sender, dead = Sender(harmonyos), harmonyos.device()
    harmonyos.post("/devices/dead", {"tokens": [dead], "reason": "tokenPlatformNotSupport"})
    answer = sender.send(tokens=[sender.device, dead]).json()
    assert answer["code"] == "80100000"
    illegal = {"success": 1, "failure": 1, "illegalTokens": {"tokenPlatformNotSupport": [dead]}}
    assert json.loads(answer["msg"]) == illegal
    assert harmonyos.undelivered() == ["device-unregistered"] and harmonyos.broken() == []


def test_revocations_are_recorded(harmonyos: StandIn) -> None:
    sender = Sender(harmonyos)
    assert sender.revoke().json()["code"] == "80000000"
    assert [(entry["token"], entry["notification"]) for entry in harmonyos.get("/revoked")] == [(sender.device, 7)]


def test_an_unusual_token_lifetime_is_noticed(harmonyos: StandIn) -> None:
    assert with_token(exp=int(time.time()) + 1800)(Sender(harmonyos)).status_code == 200
    assert harmonyos.noticed() == ["token-hour"]


def test_every_rule_is_tested() -> None:
    assert untested(RULES, __file__) == []
