"""A token endpoint for OAuth client credentials, as Huawei and Honor use it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from .clock import Clock
from .message import Request, Response
from .record import Record
from .rules import Refused


@dataclass
class IssuedToken:
    """An access token and its client."""

    client: str
    expires_at: float


class ClientCredentials:
    """Issues access tokens to known clients."""

    def __init__(self, clock: Clock, record: Record, lifetime: float, error: Callable[[str], dict[str, Any]]) -> None:
        self._clock = clock
        self._record = record
        self._lifetime = lifetime
        self._error = error
        self._secrets: dict[str, str] = {}
        self._issued: dict[str, IssuedToken] = {}

    def register(self, client: str) -> str:
        """Registers a client and returns its secret."""
        return self._secrets.setdefault(client, secrets.token_hex(32))

    def find(self, token: str) -> IssuedToken | None:
        return self._issued.get(token)

    def answer(self, request: Request) -> Response:
        """Checks a token request and issues an access token."""
        if request.method != "POST":
            raise self._refused("the method is not POST")
        if request.media_type() != "application/x-www-form-urlencoded":
            raise self._refused("the body is not form-urlencoded")
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        if form.get("grant_type") != "client_credentials":
            raise self._refused("grant_type is not client_credentials")
        client = form.get("client_id", "")
        if client not in self._secrets:
            raise self._refused("client_id is invalid")
        if form.get("client_secret") != self._secrets[client]:
            raise self._refused("client_secret is invalid")
        return self._issue(client)

    def _refused(self, description: str) -> Refused:
        return Refused("token-request", 400, description, description, {"oauth": self._error(description)})

    def _issue(self, client: str) -> Response:
        token = f"DAEB{secrets.token_urlsafe(40)}/{secrets.token_urlsafe(40)}"
        self._issued[token] = IssuedToken(client, self._clock.now() + self._lifetime)
        self._record.tokens_issued += 1
        answer = Response.json(200, {"access_token": token, "expires_in": int(self._lifetime), "token_type": "Bearer"})
        # Huawei escapes the slash in tokens; a JSON parser removes the escape.
        answer.body = answer.body.replace(b"/", b"\\/")
        return answer
