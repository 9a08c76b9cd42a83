"""Provider tokens of APNs, their signing keys, and the state of each connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from . import keys
from .clock import Clock
from .rules import Refused
from .strict_json import loads

_ONE_HOUR = 3600


@dataclass
class Key:
    """A signing key, as registered with the service."""

    id: str
    team: str
    file: str
    public: ec.EllipticCurvePublicKey
    environment: str
    """production, sandbox or both."""
    family: str
    """Related keys share a family."""
    topics: frozenset[str] | None
    """The topics of a topic-specific key. None means all topics of the team."""

    def described(self) -> dict[str, str]:
        return {"keyFile": self.file, "keyID": self.id, "teamID": self.team}


@dataclass
class ProviderToken:
    """A provider token with a verified signature."""

    text: str
    key: Key
    issued_at: float


@dataclass
class ConnectionState:
    """The team and key that a connection is bound to, and its usage."""

    token: ProviderToken | None = None
    """The token of the latest request."""
    accepted: set[str] = field(default_factory=set)
    renewed_at: float = 0.0
    pushes: int = 0


def _invalid(rule: str, detail: str) -> Refused:
    return Refused(rule, 403, "InvalidProviderToken", detail)


class ProviderTokens:
    """Checks provider tokens and caches verified signatures."""

    def __init__(self, clock: Clock, environment: str, age: float, renewal: float) -> None:
        self._clock = clock
        self._environment = environment
        self._age = age
        self._renewal = renewal
        self._keys: dict[str, Key] = {}
        self._checked: dict[str, ProviderToken] = {}

    @property
    def seen(self) -> int:
        return len(self._checked)

    def make_key(
        self,
        directory: Path,
        team: str,
        environment: str = "both",
        family: str | None = None,
        topics: list[str] | None = None,
    ) -> Key:
        """Creates a key and writes its .p8 file."""
        private, id = keys.p256(), keys.identifier(10)
        file = keys.write_private(directory / f"AuthKey_{id}.p8", keys.pem(private))
        allowed = frozenset(topics) if topics is not None else None
        key = Key(id, team, file, private.public_key(), environment, family or id, allowed)
        self._keys[id] = key
        return key

    def admit(self, authorization: str, state: ConnectionState) -> ProviderToken:
        """Returns the token of a request, or raises Refused if this connection may not use it now."""
        token = self._checked.get(authorization)
        if token is None:
            token = self._checked[authorization] = self._check(authorization)
        if self._clock.now() - token.issued_at > self._age:
            raise Refused("provider-token-age", 403, "ExpiredProviderToken", "iat is too old")
        if token.text not in state.accepted:
            self._bind(token, state)
        state.token = token
        return token

    def _check(self, authorization: str) -> ProviderToken:
        """Checks everything that does not depend on the time or the connection."""
        if not authorization.strip():
            raise Refused("authorization-present", 403, "MissingProviderToken", "the header is empty")
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Refused("authorization-bearer", 403, "MissingProviderToken", f"scheme {scheme}")
        header = self._header(text)
        if header.get("alg") != "ES256":
            raise _invalid("provider-token-algorithm", f"alg is {header.get('alg')}")
        key = self._keys.get(_identifier(header.get("kid"), "kid"))
        claims = self._claims(text, key)
        if _identifier(claims.get("iss"), "iss") != key.team:
            raise _invalid("provider-token-team", "iss is not the key's team")
        issued_at = claims.get("iat")
        if not isinstance(issued_at, (int, float)) or isinstance(issued_at, bool):
            raise _invalid("provider-token-issue-time", "iat is not a number")
        if issued_at > self._clock.now() + _ONE_HOUR:
            raise _invalid("provider-token-issue-time", "iat is more than an hour ahead")
        if key.environment not in ("both", self._environment):
            raise Refused("key-environment", 403, "BadEnvironmentKeyIdInToken", f"the key is for {key.environment}")
        return ProviderToken(text, key, issued_at)

    @staticmethod
    def _header(text: str) -> dict[str, Any]:
        try:
            return jwt.get_unverified_header(text)
        except jwt.InvalidTokenError as error:
            raise _invalid("provider-token-readable", str(error)) from error

    @staticmethod
    def _claims(text: str, key: Key | None) -> dict[str, Any]:
        if key is None:
            raise _invalid("provider-token-signature", "kid names no key")
        if len(keys.decode(text.rpartition(".")[2])) != 64:
            raise _invalid("provider-token-signature-form", "the signature is not 64 bytes")
        try:
            claims = loads(jwt.PyJWS().decode(text, key.public, algorithms=["ES256"]))
        except jwt.InvalidSignatureError as error:
            raise _invalid("provider-token-signature", "the signature does not verify") from error
        except ValueError as error:
            raise _invalid("provider-token-readable", str(error)) from error
        if not isinstance(claims, dict):
            raise _invalid("provider-token-readable", "the claims are not an object")
        return claims

    def _bind(self, token: ProviderToken, state: ConnectionState) -> None:
        """Accepts or refuses a token that is new on this connection."""
        now = self._clock.now()
        if state.token is not None:
            first = state.token.key
            if token.key.team != first.team:
                raise _invalid("connection-team", "a second team on one connection")
            if token.key.family != first.family:
                raise Refused("key-related", 403, "UnrelatedKeyIdInToken", "another key than the connection's first")
            if now - state.renewed_at < self._renewal:
                raise Refused("provider-token-renewal", 429, "TooManyProviderTokenUpdates", "renewed too soon")
        state.accepted.add(token.text)
        state.renewed_at = now


def _identifier(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) != 10:
        raise _invalid("provider-token-identifiers", f"{name} is not a text of 10 characters")
    return value
