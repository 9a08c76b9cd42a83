"""Checks of VAPID credentials, RFC 8292."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from . import keys
from .clock import Clock
from .rules import Refused
from .strict_json import loads

_ONE_DAY = 24 * 3600
_PARAMETER = re.compile(r'\s*([A-Za-z]+)\s*=\s*"?([^",]*)"?\s*')
_ADDRESS_LITERAL = re.compile(r"\[.*\]|[0-9.]+")


def _refused(rule: str, reason: str, detail: str, status: int = 403) -> Refused:
    return Refused(rule, status, reason, detail)


@dataclass
class Credentials:
    """A token with a verified signature, and its key."""

    token: str
    key: bytes
    claims: dict[str, Any]


class Vapid:
    """Checks credentials and caches verified signatures."""

    def __init__(self, clock: Clock, demand_real_subject: bool) -> None:
        self._clock = clock
        self._demand_real_subject = demand_real_subject
        self._checked: dict[str, Credentials] = {}

    @property
    def seen(self) -> int:
        return len(self._checked)

    def admit(self, authorization: str, origin: str) -> Credentials:
        """Returns the credentials of a request to the origin, or raises Refused if they are invalid now."""
        credentials = self._checked.get(authorization)
        if credentials is None:
            credentials = self._checked[authorization] = self._check(authorization)
        self._check_expiry(credentials.claims)
        self._check_audience(credentials.claims.get("aud"), origin)
        self._check_subject(credentials.claims.get("sub"))
        return credentials

    def _check(self, authorization: str) -> Credentials:
        scheme, _, rest = authorization.partition(" ")
        if scheme.lower() != "vapid":
            raise _refused("authorization-scheme", "BadAuthorizationHeader", f"scheme {scheme}", 401)
        parameters = _parameters(rest)
        if not parameters.get("t") or not parameters.get("k"):
            raise _refused("vapid-parameters", "BadAuthorizationHeader", "t or k is missing")
        token, key = parameters["t"], _key(parameters["k"])
        return Credentials(token, keys.point(key), _claims(token, key))

    def _check_expiry(self, claims: dict[str, Any]) -> None:
        expires_at = claims.get("exp")
        if not isinstance(expires_at, (int, float)) or isinstance(expires_at, bool):
            raise _refused("vapid-expiry-present", "BadJwtToken", f"exp is {expires_at!r}")
        now = self._clock.now()
        if expires_at <= now:
            raise _refused("vapid-expired", "BadJwtToken", "exp is past")
        if expires_at > now + _ONE_DAY:
            raise _refused("vapid-lifetime", "BadJwtToken", "exp is more than 24 hours ahead")

    @staticmethod
    def _check_audience(audience: Any, origin: str) -> None:
        values = audience if isinstance(audience, list) else [audience]
        if origin in values:
            return
        host = urlsplit(origin).hostname
        if any(isinstance(value, str) and urlsplit(value).hostname == host for value in values):
            raise _refused("vapid-audience-form", "BadJwtToken", f"aud is {audience!r}")
        raise _refused("vapid-audience", "BadJwtToken", f"aud is {audience!r}")

    def _check_subject(self, subject: Any) -> None:
        if not isinstance(subject, str) or not re.match(r"mailto:.+@.+|https://.+", subject):
            raise _refused("vapid-subject", "BadJwtToken", f"sub is {subject!r}")
        host = urlsplit(subject).hostname if subject.startswith("https:") else subject.rpartition("@")[2]
        unreal = not host or host == "localhost" or host.endswith(".local") or _ADDRESS_LITERAL.fullmatch(host)
        if self._demand_real_subject and unreal:
            raise _refused("vapid-subject-real", "BadJwtToken", f"sub is {subject!r}")


def _parameters(text: str) -> dict[str, str]:
    """Returns the parameters of an Authorization header. Unknown parameters are not used."""
    found = [_PARAMETER.fullmatch(part) for part in text.split(",")]
    return {match.group(1).lower(): match.group(2) for match in found if match}


def _key(text: str) -> ec.EllipticCurvePublicKey:
    try:
        point = keys.decode(text)
        if len(point) != 65 or point[0] != 4:
            raise ValueError("not an uncompressed point")
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as error:
        raise _refused("vapid-key-form", "BadVapidPublicKey", str(error)) from error


def _claims(token: str, key: ec.EllipticCurvePublicKey) -> dict[str, Any]:
    try:
        header = jwt.get_unverified_header(token)
        signature = keys.decode(token.rpartition(".")[2])
    except (jwt.InvalidTokenError, ValueError) as error:
        raise _refused("vapid-token-readable", "BadJwtToken", str(error)) from error
    if header.get("alg") != "ES256":
        raise _refused("vapid-algorithm", "BadJwtToken", f"alg is {header.get('alg')}")
    if len(signature) != 64:
        raise _refused("vapid-signature-form", "BadJwtToken", f"the signature has {len(signature)} bytes")
    try:
        claims = loads(jwt.PyJWS().decode(token, key, algorithms=["ES256"]))
    except jwt.InvalidSignatureError as error:
        raise _refused("vapid-signature", "BadJwtToken", "the signature does not verify with k") from error
    except ValueError as error:
        raise _refused("vapid-token-readable", "BadJwtToken", str(error)) from error
    if not isinstance(claims, dict):
        raise _refused("vapid-token-readable", "BadJwtToken", "the claims are not an object")
    return claims
