"""The plain HTTP interface for tests."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from .clock import Clock
from .faults import Fault, Faults
from .message import Connection, Exchange, Request, Response
from .record import Record
from .service import Service


class Control:
    """Handles the requests on control connections."""

    def __init__(self, service: Service, faults: Faults, record: Record, clock: Clock) -> None:
        self._service = service
        self._faults = faults
        self._record = record
        self._clock = clock
        self._posts = {
            "/devices": self._make_devices,
            "/devices/dead": self._kill_devices,
            "/faults": self._order_faults,
            "/clock": self._advance_clock,
            "/reset": self._reset,
            **service.control_routes(),
        }
        self._gets = {
            "/received": self._received,
            "/refused": lambda query: self._record.refused,
            "/undelivered": lambda query: self._record.undelivered,
            "/noticed": lambda query: self._record.noticed,
            "/revoked": lambda query: self._record.revoked,
            "/counts": lambda query: self._record.counts(),
            "/rules": lambda query: [rule.listed() for rule in self._service.rules],
        }

    # Handler

    def opened(self, protocol: str) -> Connection:
        return Connection(0, protocol, 0)

    def closed(self, connection: Connection) -> None:
        pass

    def malformed(self, connection: Connection, detail: str) -> None:
        pass

    def serve(self, request: Request, exchange: Exchange) -> None:
        try:
            exchange.respond(Response.json(200, self._answer(request)))
        except LookupError as error:
            exchange.respond(Response.json(404, {"error": f"no such thing: {error}"}))
        except (ValueError, TypeError) as error:
            exchange.respond(Response.json(400, {"error": str(error)}))

    def _answer(self, request: Request) -> Any:
        if request.method == "GET":
            return self._gets[request.path](parse_qs(request.target.partition("?")[2]))
        if request.method == "POST":
            order = json.loads(request.body or b"{}")
            if not isinstance(order, dict):
                raise ValueError("the body is not a JSON object")
            return self._posts[request.path](order)
        raise LookupError(request.method)

    # Queries

    def _received(self, query: dict[str, list[str]]) -> dict[str, Any]:
        after = int(query.get("after", ["0"])[0])
        return {"notifications": self._record.received[after:], "next": len(self._record.received)}

    # Commands

    def _make_devices(self, order: dict[str, Any]) -> dict[str, Any]:
        return {"tokens": self._service.make_devices(order)}

    def _kill_devices(self, order: dict[str, Any]) -> dict[str, Any]:
        return {"dead": self._service.kill_devices(order)}

    def _order_faults(self, order: dict[str, Any]) -> dict[str, Any]:
        faults = [Fault.read(value) for value in order.get("faults", [])]
        if faults:
            options = {name: order[name] for name in ("mode", "share", "seed") if name in order}
            self._faults.order(faults, **options)
        else:
            self._faults.clear()
        return {"faults": len(faults)}

    def _advance_clock(self, order: dict[str, Any]) -> dict[str, Any]:
        self._clock.advance(float(order.get("advance", 0)))
        return {"now": self._clock.milliseconds()}

    def _reset(self, order: dict[str, Any]) -> dict[str, Any]:
        self._faults.clear()
        self._clock.reset()
        self._record.reset()
        self._service.reset()
        return {}
