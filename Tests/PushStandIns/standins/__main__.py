"""The command line: serves one stand-in, or lists the rules of all."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import signal
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from . import certificate, settings
from .clock import Clock
from .control import Control
from .faults import Faults
from .http1 import Http1Protocol
from .message import Connection
from .record import Record
from .rules import Mark
from .server import Entrance, Gate
from .service import Service

SERVICES = {
    "apns": "APNs",
    "fcm": "FCM",
    "webpush": "WebPush",
    "huawei": "Huawei",
    "harmonyos": "HarmonyOS",
    "honor": "Honor",
    "xiaomi": "Xiaomi",
    "oppo": "Oppo",
    "vivo": "Vivo",
}


def service_type(name: str) -> type[Service]:
    return getattr(importlib.import_module(f".{name}", __package__), SERVICES[name])


async def serve(name: str, config: str | None, directory: Path) -> None:
    """Runs one stand-in until SIGTERM, SIGINT or the end of standard input."""
    loop = asyncio.get_running_loop()
    kind = service_type(name)
    clock, faults = Clock(), Faults()
    record = Record(clock, kind.rules)
    service = kind(settings.load(kind.settings_type, config), directory, clock, record)
    gate, control = Gate(service, faults, record), Control(service, faults, record, clock)
    authority, certificate_file = certificate.make(directory)
    context = certificate.context(certificate_file, kind.protocols)
    public = await loop.create_server(lambda: Entrance(gate, kind.protocols), "127.0.0.1", 0, ssl=context, backlog=512)
    private = await loop.create_server(lambda: Http1Protocol(control, Connection(0, "http/1.1", 0)), "127.0.0.1", 0)
    endpoint = f"https://localhost:{_port(public)}"
    ready: dict[str, Any] = {
        "service": name,
        "endpoint": endpoint,
        "control": f"http://127.0.0.1:{_port(private)}",
        "authority": str(authority),
        **service.start(endpoint),
    }
    end = _told_to_end(loop)
    print(json.dumps(ready), flush=True)
    await end.wait()


def _port(server: asyncio.Server) -> int:
    return server.sockets[0].getsockname()[1]


def _told_to_end(loop: asyncio.AbstractEventLoop) -> asyncio.Event:
    """Returns an event that is set by a signal or the end of standard input."""
    end = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, end.set)
    loop.add_signal_handler(signal.SIGINT, end.set)

    def read_to_the_end() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(end.set)

    threading.Thread(target=read_to_the_end, daemon=True).start()
    return end


def list_rules(as_json: bool) -> None:
    """Prints the rules of every service."""
    tables = {name: [rule.listed() for rule in service_type(name).rules] for name in SERVICES}
    if as_json:
        print(json.dumps(tables, indent=1, ensure_ascii=False))
        return
    for name, rules in tables.items():
        marks = Counter(rule["mark"] for rule in rules)
        print(f"{name}: {len(rules)} rules; " + ", ".join(f"{marks[mark]} {mark}" for mark in Mark))
        for rule in rules:
            inner = f"condition {rule['condition']}, answer {rule['answer']}"
            print(f"  {rule['name']} [{rule['effect']}; {rule['mark']}: {inner}]")
            print(f"    {rule['text']}")
            print(f"    {rule['source']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="standins", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="run one stand-in until SIGTERM or the end of standard input")
    serving.add_argument("service", choices=SERVICES)
    serving.add_argument("--config", help="a JSON file with settings")
    serving.add_argument(
        "--directory", type=Path, help="the directory for key and certificate files (default: a temporary one)"
    )
    listing = commands.add_parser("rules", help="list the rules of every service")
    listing.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "rules":
        list_rules(arguments.json)
    elif arguments.directory:
        arguments.directory.mkdir(parents=True, exist_ok=True)
        asyncio.run(serve(arguments.service, arguments.config, arguments.directory))
    else:
        with tempfile.TemporaryDirectory(prefix="standins-") as directory:
            asyncio.run(serve(arguments.service, arguments.config, Path(directory)))


if __name__ == "__main__":
    main()
