"""Measures how many APNs notifications the stand-in accepts in a second. Run it by hand.

The client writes pre-encoded HTTP/2 frames, so nearly all the time is spent in the stand-in.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import hpack
import jwt
from frames import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, WINDOW_UPDATE, frame

COUNT = 10_000


class Client:
    """A connection that counts the responses with status 200."""

    def __init__(self, endpoint: str, authority: str) -> None:
        context = ssl.create_default_context(cafile=authority)
        context.set_alpn_protocols(["h2"])
        parts = urlsplit(endpoint)
        raw = socket.create_connection(("127.0.0.1", parts.port))
        self.socket = context.wrap_socket(raw, server_hostname=parts.hostname)
        self.buffer = b""
        self.decoder = hpack.Decoder()
        self.answered = 0
        self.socket.sendall(
            PREFACE + frame(SETTINGS, 0, 0, b"") + frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 1 << 30))
        )

    def read(self) -> None:
        self.buffer += self.socket.recv(1 << 16)
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3])
            if len(self.buffer) < 9 + length:
                return
            kind, flags, payload = self.buffer[3], self.buffer[4], self.buffer[9 : 9 + length]
            self.buffer = self.buffer[9 + length :]
            if kind == SETTINGS and not flags:
                self.socket.sendall(frame(SETTINGS, ACK, 0, b""))
            elif kind == HEADERS:
                status = dict(self.decoder.decode(payload))[":status"]
                assert status == "200", status
                self.answered += 1

    def wait(self, answered: int) -> None:
        while self.answered < answered:
            self.read()


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--concurrent", type=int, default=100)
    concurrent = parser.parse_args().concurrent
    process = subprocess.Popen(
        [sys.executable, "-m", "standins", "serve", "apns"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
    )
    ready = json.loads(process.stdout.readline())
    order = urllib.request.Request(ready["control"] + "/devices", json.dumps({"count": COUNT}).encode())
    tokens = json.load(urllib.request.urlopen(order))["tokens"]
    provider_token = jwt.encode(
        {"iss": ready["teamID"], "iat": int(time.time())},
        Path(ready["keyFile"]).read_text(),
        "ES256",
        {"kid": ready["keyID"]},
    )
    encoder = hpack.Encoder()
    body = json.dumps({"aps": {"alert": {"title": "Room", "body": "x" * 200}, "badge": 3, "sound": "default"}})
    requests = []
    for number, token in enumerate(tokens):
        stream = 2 * number + 1
        fields = [
            (":method", "POST"),
            (":scheme", "https"),
            (":path", f"/3/device/{token}"),
            (":authority", "localhost"),
            ("authorization", f"bearer {provider_token}"),
            ("apns-topic", ready["topic"]),
            ("apns-push-type", "alert"),
            ("apns-priority", "10"),
            ("apns-expiration", "0"),
            ("apns-collapse-id", f"message-{number}"),
        ]
        changing = (":path", "apns-collapse-id")
        fields = [hpack.NeverIndexedHeaderTuple(*field) if field[0] in changing else field for field in fields]
        requests.append(
            frame(HEADERS, END_HEADERS, stream, encoder.encode(fields)) + frame(DATA, END_STREAM, stream, body.encode())
        )
    client = Client(ready["endpoint"], ready["authority"])
    client.socket.sendall(requests[0])
    client.wait(1)
    start, start_cpu = time.monotonic(), cpu_seconds(process.pid)
    sent = 1
    while sent < COUNT:
        batch = requests[sent : sent + concurrent - (sent - client.answered)]
        if batch:
            client.socket.sendall(b"".join(batch))
            sent += len(batch)
        client.read()
    client.wait(COUNT)
    seconds, cpu = time.monotonic() - start, cpu_seconds(process.pid) - start_cpu
    counts = json.load(urllib.request.urlopen(ready["control"] + "/counts"))
    process.stdin.close()
    process.wait()
    assert counts["received"] == COUNT and not counts["refused"], counts
    print(f"{COUNT} in {seconds:.2f} s: {COUNT / seconds:.0f} a second; {COUNT / cpu:.0f} a second of CPU time")


if __name__ == "__main__":
    main()
