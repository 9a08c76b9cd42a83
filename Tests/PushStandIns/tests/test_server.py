"""Common behavior of all stand-ins: start and end, control, faults, and transport rules."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from conftest import ROOT, SHARED, StandIn
from frames import ACK, DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, SETTINGS, RawConnection, frame
from test_apns import Sender
from test_webpush import Sender as WebSender

from standins.__main__ import SERVICES, service_type
from standins.faults import Fault, Faults


@pytest.fixture
def apns(started: Callable[..., StandIn]) -> StandIn:
    return started("apns", topics=["com.example.chat", "com.example.other"], pushesInARow=4)


def order(standin: StandIn, *faults: dict[str, Any], **mode: Any) -> None:
    standin.post("/faults", {"faults": list(faults), **mode})


# Start and end


def start(tmp_path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "standins", "serve", "xiaomi", "--directory", str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert json.loads(process.stdout.readline())["service"] == "xiaomi"
    return process


def test_a_stand_in_ends_at_the_end_of_its_input(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.stdin.close()
    assert process.wait(5) == 0


def test_a_stand_in_ends_on_sigterm(tmp_path: Path) -> None:
    process = start(tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"colour": 1}')
    command = [sys.executable, "-m", "standins", "serve", "xiaomi", "--config", str(config)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, check=False)
    assert ended.returncode != 0 and b"unknown setting colour" in ended.stderr


def test_all_rules_are_listed_with_text_and_source() -> None:
    command = [sys.executable, "-m", "standins", "rules", "--json"]
    tables = json.loads(subprocess.run(command, capture_output=True, cwd=ROOT, check=True).stdout)
    assert list(tables) == list(SERVICES)
    for rules in tables.values():
        for rule in rules:
            assert rule["text"].endswith(".") and rule["source"]
            assert rule["unverified"] == (rule["mark"] == "unverified")


# Control


def test_control_refuses_unknown_requests(apns: StandIn) -> None:
    control = httpx.Client(base_url=apns.ready["control"])
    assert control.get("/nothing").status_code == 404
    assert control.post("/devices", content=b"[]").status_code == 400
    assert control.post("/faults", json={"faults": [{"kind": "explosion"}]}).status_code == 400
    assert control.post("/faults", json={"faults": [{"kind": "hang", "seconds": "1"}]}).status_code == 400
    assert control.post("/devices/dead", json={"tokens": ["unknown"]}).status_code == 404


def test_reset_keeps_devices(apns: StandIn) -> None:
    sender = Sender(apns)
    sender.push()
    apns.post("/reset")
    assert apns.received() == [] and set(apns.get("/counts").values()) == {0}
    assert sender.push().status_code == 200


# Faults


def test_status_faults_have_a_count_and_retry_after(apns: StandIn) -> None:
    sender = Sender(apns)
    order(apns, {"kind": "status", "status": 429, "retryAfter": 1, "count": 2}, {"kind": "status", "status": 410})
    answers = [sender.push() for _ in range(4)]
    assert [answer.status_code for answer in answers] == [429, 429, 410, 200]
    assert answers[0].json() == {"reason": "TooManyRequests"} and answers[0].headers["retry-after"] == "1"
    assert answers[2].json()["reason"] == "Unregistered" and answers[2].json()["timestamp"] > 1.7e12
    counts = apns.get("/counts")
    assert (counts["requests"], counts["faulted"], counts["received"]) == (4, 3, 1)


@pytest.mark.parametrize(("kind", "taken"), [("reset", 0), ("resetAfter", 1)])
def test_reset_faults_cut_the_connection(apns: StandIn, kind: str, taken: int) -> None:
    sender = Sender(apns)
    order(apns, {"kind": kind})
    with pytest.raises(httpx.TransportError):
        sender.push()
    assert len(apns.received()) == taken
    assert sender.push().status_code == 200


@pytest.mark.parametrize(
    ("http2", "answered"), [(False, [True, True, False, True]), (True, [False, False, False, True])]
)
def test_a_cut_connection_loses_unread_responses(
    started: Callable[..., StandIn], http2: bool, answered: list[bool]
) -> None:
    standin = started("webpush")
    sender = WebSender(standin, http2)
    # Over HTTP/2, nothing confirms that the sender read a response.
    assert [sender.push().status_code for _ in range(2)] == [201, 201]
    for kind in ("resetAfter", "reset"):
        order(standin, {"kind": kind})
        with pytest.raises(httpx.TransportError):
            sender.push()
    assert sender.push().status_code == 201
    assert [notification["answered"] for notification in standin.received()] == answered


def test_hang_faults_delay_the_response(apns: StandIn) -> None:
    sender = Sender(apns)
    order(apns, {"kind": "hang", "seconds": 0.2}, {"kind": "hangAfter", "seconds": 0.2})
    for _ in range(2):
        begun = time.monotonic()
        assert sender.push().status_code == 200
        assert time.monotonic() - begun > 0.15


def test_a_hanging_push_is_discarded_if_the_sender_gives_up(apns: StandIn) -> None:
    sender = Sender(apns)
    order(apns, {"kind": "hang", "seconds": 0.3})
    sender.client.timeout = 0.1
    with pytest.raises(httpx.TimeoutException):
        sender.push()
    sender.client.close()
    time.sleep(0.3)
    assert apns.received() == []


def fields(sender: Sender) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", f"/3/device/{sender.device}"),
        (":authority", "localhost"),
        ("authorization", f"bearer {sender.token}"),
        ("apns-topic", sender.standin.ready["topic"]),
        ("apns-push-type", "alert"),
    ]


def test_goaway_ends_the_connection_and_ignores_later_streams(apns: StandIn) -> None:
    sender = Sender(apns)
    connection = RawConnection(apns.endpoint, apns.ready["authority"])
    body = b'{"aps":{"badge":1}}'
    for stream in (1, 3):
        connection.send(connection.headers(stream, fields(sender)) + frame(DATA, END_STREAM, stream, body))
        if stream == 1:
            connection.until(HEADERS, 1)
            order(apns, {"kind": "goaway"})
    payload = connection.until(GOAWAY)[3]
    assert (int.from_bytes(payload[:4]), int.from_bytes(payload[4:8])) == (1, 0)
    assert json.loads(payload[8:]) == {"reason": "Shutdown"}
    assert connection.read() is None
    assert len(apns.received()) == 1
    connection.close()


def test_stream_reset_faults_reset_the_stream(apns: StandIn) -> None:
    sender = Sender(apns)
    connection = RawConnection(apns.endpoint, apns.ready["authority"])
    order(apns, {"kind": "streamReset", "code": "REFUSED_STREAM"})
    connection.send(connection.headers(1, fields(sender)) + frame(DATA, END_STREAM, 1, b'{"aps":{"badge":1}}'))
    assert connection.until(RST_STREAM)[2:] == (1, b"\0\0\0\x07")
    assert apns.received() == []
    connection.close()


def test_a_cancelled_stream_does_not_affect_others(apns: StandIn) -> None:
    sender = Sender(apns)
    connection = RawConnection(apns.endpoint, apns.ready["authority"])
    push = frame(DATA, END_STREAM, 1, b'{"aps":{"badge":1}}') + frame(RST_STREAM, 0, 1, b"\0\0\0\x08")
    connection.send(connection.headers(1, fields(sender)) + push)
    connection.send(connection.headers(3, fields(sender)) + frame(DATA, END_STREAM, 3, b'{"aps":{"badge":2}}'))
    assert connection.until(HEADERS)[2] == 3
    connection.close()


def test_random_faults_are_repeatable() -> None:
    def picks(seed: int) -> list[str | None]:
        faults = Faults()
        faults.order([Fault("reset"), Fault("hang")], "random", 0.2, seed)
        return [fault.kind if (fault := faults.pick("send")) else None for _ in range(1000)]

    assert picks(1) == picks(1) != picks(2)
    assert 150 < sum(kind is not None for kind in picks(1)) < 250


# Transport rules of all services

HTTP2 = [name for name in SERVICES if "h2" in service_type(name).protocols]
HTTP1 = [name for name in SERVICES if "http/1.1" in service_type(name).protocols]


@pytest.mark.parametrize("name", SERVICES)
def test_plain_http_gets_no_response(started: Callable[..., StandIn], name: str) -> None:
    assert "tls-only" in service_type(name).rules
    with pytest.raises(httpx.TransportError):
        httpx.get(started(name).endpoint.replace("https", "http"))


@pytest.mark.parametrize("name", HTTP1)
def test_malformed_http1_is_refused(started: Callable[..., StandIn], name: str) -> None:
    standin = started(name)
    with raw_http1(standin) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 400")
    assert standin.broken() == ["malformed-http1"]


@pytest.mark.parametrize("name", HTTP1)
def test_connections_are_kept_alive(started: Callable[..., StandIn], name: str) -> None:
    standin = started(name)
    client = standin.client()
    for _ in range(3):
        client.get("/")
    assert standin.get("/counts")["connections"] == 1


def raw_http1(standin: StandIn) -> socket.socket:
    context = ssl.create_default_context(cafile=standin.ready["authority"])
    parts = urlsplit(standin.endpoint)
    return context.wrap_socket(socket.create_connection(("127.0.0.1", parts.port)), server_hostname=parts.hostname)


@pytest.mark.parametrize("name", HTTP2)
def test_malformed_http2_resets_the_stream(started: Callable[..., StandIn], name: str) -> None:
    standin = started(name)
    connection = RawConnection(standin.endpoint, standin.ready["authority"])
    connection.send(connection.headers(1, [(":method", "POST"), (":path", "/"), ("connection", "close")]))
    assert connection.until(RST_STREAM)[3] == b"\0\0\0\x01"
    assert standin.broken() == ["malformed-http2"]
    connection.close()


@pytest.mark.parametrize("name", HTTP2)
@pytest.mark.parametrize("acknowledged", [True, False])
def test_streams_above_the_limit_are_refused(started: Callable[..., StandIn], name: str, acknowledged: bool) -> None:
    standin = started(name)
    connection = RawConnection(standin.endpoint, standin.ready["authority"])
    if acknowledged:
        connection.until(SETTINGS)
        connection.send(frame(SETTINGS, ACK, 0, b""))
    head = [(":method", "POST"), (":scheme", "https"), (":path", "/")]
    for stream in range(1, 204, 2):
        connection.send(connection.headers(stream, head))
    assert connection.until(RST_STREAM)[3] == b"\0\0\0\x07"
    if acknowledged:
        assert set(standin.broken()) == {"stream-limit"}
    else:
        assert standin.broken() == [] and set(standin.noticed()) == {"stream-before-settings"}
    connection.close()


def test_every_shared_rule_is_tested() -> None:
    text = Path(__file__).read_text()
    assert all(f'"{rule}"' in text for rule in SHARED)
