"""Google's OAuth token endpoint, for service accounts."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jwt

from . import keys
from .clock import Clock
from .message import Request, Response
from .record import Record
from .rules import Refused
from .strict_json import loads

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GOOGLE_TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"
MESSAGING_SCOPES = frozenset(
    (
        "https://www.googleapis.com/auth/firebase.messaging",
        "https://www.googleapis.com/auth/cloud-platform",
    )
)
OTHER_SCOPES = frozenset(
    (
        "https://www.googleapis.com/auth/userinfo.email",
        "https://www.googleapis.com/auth/firebase.database",
        "https://www.googleapis.com/auth/devstorage.read_only",
    )
)

_PART = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_LIVED = (
    "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
    "Check your iat and exp values in the JWT claim."
)
_UNAUTHORIZED = (
    "Client is unauthorized to retrieve access tokens using this method, "
    "or client not authorized for any of the scopes requested."
)
_CLOCK_SKEW = 300
_LONGEST_LIFETIME = 3600
_REUSE_UNTIL = 300


@dataclass
class AccessToken:
    """An issued access token."""

    text: str
    expires_at: float
    scopes: frozenset[str]


class TokenEndpoint:
    """Issues access tokens for signed assertions of one service account."""

    def __init__(self, project: str, lifetime: float, clock: Clock, record: Record) -> None:
        self._clock = clock
        self._record = record
        self._lifetime = lifetime
        self._project = project
        self._key = keys.rsa_key()
        self._key_id = secrets.token_hex(20)
        self._email = f"firebase-adminsdk-{secrets.token_hex(3)}@{project}.iam.gserviceaccount.com"
        self._issued: dict[str, AccessToken] = {}
        self._latest: AccessToken | None = None
        self.address = ""

    def write_account(self, directory: Path, endpoint: str) -> str:
        """Writes the service account's key file in Google's form."""
        self.address = f"{endpoint}/token"
        account = {
            "type": "service_account",
            "project_id": self._project,
            "private_key_id": self._key_id,
            "private_key": keys.pem(self._key),
            "client_email": self._email,
            "client_id": keys.identifier(21, "0123456789"),
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": self.address,
            "universe_domain": "googleapis.com",
        }
        return keys.write_private(directory / "service-account.json", json.dumps(account, indent=2))

    def find(self, text: str) -> AccessToken | None:
        return self._issued.get(text)

    def answer(self, request: Request) -> Response:
        """Checks a token request and issues an access token."""
        if request.method != "POST":
            raise _error("token-method", "method_not_allowed", request.method, 405)
        if request.media_type() != "application/x-www-form-urlencoded":
            raise _error("token-form", "unsupported_grant_type", "Invalid grant_type: ")
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        grant_type = form.get("grant_type", "")
        if grant_type != GRANT_TYPE:
            raise _error("token-grant-type", "unsupported_grant_type", f"Invalid grant_type: {grant_type}")
        claims = self._claims(form.get("assertion", ""))
        self._check(claims)
        return self._issue(self._scopes(claims))

    def _claims(self, assertion: str) -> dict[str, Any]:
        parts = assertion.split(".")
        if len(parts) != 3 or not all(parts):
            raise _error("token-assertion", "invalid_request", "The assertion is not a JSON Web Token.")
        if not all(_PART.fullmatch(part) for part in parts):
            raise _error("token-encoding", "invalid_grant", "Invalid JWT Signature.")
        try:
            header, claims = loads(keys.decode(parts[0])), loads(keys.decode(parts[1]))
        except ValueError as error:
            raise _error("token-assertion", "invalid_grant", "Invalid JWT.") from error
        if not isinstance(header, dict) or not isinstance(claims, dict):
            raise _error("token-assertion", "invalid_grant", "Invalid JWT.")
        if header.get("alg") != "RS256":
            raise _error("token-algorithm", "invalid_grant", "Invalid JWT: alg is not RS256.")
        if claims.get("iss") != self._email:
            raise _error("token-issuer", "invalid_grant", "Invalid grant: account not found")
        try:
            jwt.PyJWS().decode(assertion, self._key.public_key(), algorithms=["RS256"])
        except jwt.InvalidTokenError as error:
            raise _error("token-signature", "invalid_grant", "Invalid JWT Signature.") from error
        return claims

    def _check(self, claims: dict[str, Any]) -> None:
        if claims.get("aud") not in (GOOGLE_TOKEN_ADDRESS, self.address):
            raise _error("token-audience", "invalid_grant", "Invalid JWT: Failed audience check.")
        issued_at, expires_at = claims.get("iat"), claims.get("exp")
        if type(issued_at) is not int or type(expires_at) is not int:
            raise _error("token-time-form", "invalid_grant", _SHORT_LIVED)
        if not 0 < expires_at - issued_at <= _LONGEST_LIFETIME:
            raise _error("token-lifetime", "invalid_grant", _SHORT_LIVED)
        now = self._clock.now()
        if expires_at <= now:
            raise _error("token-expired", "invalid_grant", _SHORT_LIVED)
        if issued_at > now + _CLOCK_SKEW:
            raise _error("token-issue-time", "invalid_grant", _SHORT_LIVED)
        if "sub" in claims:
            raise _error("token-subject", "unauthorized_client", _UNAUTHORIZED, 401)

    @staticmethod
    def _scopes(claims: dict[str, Any]) -> frozenset[str]:
        scope = claims.get("scope")
        scopes = frozenset(scope.split(" ")) if isinstance(scope, str) else frozenset()
        if not scopes or not scopes <= MESSAGING_SCOPES | OTHER_SCOPES:
            raise _error("token-scope", "invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        return scopes

    def _issue(self, scopes: frozenset[str]) -> Response:
        now = self._clock.now()
        if self._latest is not None and now < self._latest.expires_at - _REUSE_UNTIL:
            self._record.notice("access-token-reuse", "a new token although the latest is good for over five minutes")
        token = AccessToken(f"ya29.c.{secrets.token_urlsafe(90)}", now + self._lifetime, scopes)
        self._issued[token.text] = self._latest = token
        self._record.tokens_issued += 1
        expires_in = int(self._lifetime)
        return Response.json(200, {"access_token": token.text, "expires_in": expires_in, "token_type": "Bearer"})

    def reset(self) -> None:
        self._latest = None


def _error(rule: str, code: str, description: str, status: int = 400) -> Refused:
    return Refused(rule, status, code, description, {"error": code, "error_description": description})
