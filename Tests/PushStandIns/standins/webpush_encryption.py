"""Decryption of push messages like a browser, RFC 8291, with http-ece."""

from __future__ import annotations

import hashlib

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec

from .rules import Refused

_HEADER = 86
_SMALLEST = 103


def _refused(rule: str, detail: str) -> Refused:
    return Refused(rule, 400, "BadWebPushRequest", detail)


class Receiver:
    """Decrypts for all subscriptions, and detects reused salts and keys."""

    def __init__(self) -> None:
        self._salts: dict[bytes, bytes] = {}
        self._senders: dict[bytes, bytes] = {}

    def decrypt(self, body: bytes, private_key: ec.EllipticCurvePrivateKey, auth: bytes, vapid_key: bytes) -> bytes:
        """Returns the plaintext of a body, after all checks of its header."""
        if len(body) < _SMALLEST:
            raise _refused("body-length", f"{len(body)} bytes")
        record_size, id_length, sender = int.from_bytes(body[16:20]), body[20], body[21:_HEADER]
        if id_length != 65 or sender[0] != 4:
            raise _refused("key-id-form", f"idlen {id_length}, first byte {sender[0]}")
        if sender == vapid_key:
            raise Refused("vapid-key-distinct", 400, "BadWebPushRequest", "the VAPID key is the key of the body")
        self._check_point(sender)
        if record_size < 18:
            raise _refused("record-size-minimum", f"rs {record_size}")
        if record_size <= len(body) - _HEADER:
            raise _refused("single-record", f"rs {record_size} for {len(body) - _HEADER} bytes")
        try:
            plaintext = http_ece.decrypt(body, private_key=private_key, auth_secret=auth, version="aes128gcm")
        except http_ece.ECEException as error:
            rule = "decryption" if str(error).startswith("Decryption error") else "delimiter"
            raise _refused(rule, str(error)) from error
        self._check_fresh(body, sender)
        return plaintext

    @staticmethod
    def _check_point(sender: bytes) -> None:
        try:
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        except ValueError as error:
            raise _refused("key-id-point", str(error)) from error

    def _check_fresh(self, body: bytes, sender: bytes) -> None:
        """Checks that salt and key are new. The same bytes are allowed, because they are a retry."""
        digest = hashlib.sha256(body).digest()
        if self._senders.setdefault(sender, digest) != digest:
            raise _refused("key-fresh", "the sender's key was used before")
        if self._salts.setdefault(body[:16], digest) != digest:
            raise _refused("salt-fresh", "the salt was used before")
