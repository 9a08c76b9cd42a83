"""Keys, random identifiers and base64url."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import string
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def p256() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: PrivateKey) -> str:
    """Returns the private key as PKCS#8 PEM, the form of Apple's .p8 and Google's JSON."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    """Returns the uncompressed point, 65 bytes."""
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def encode(data: bytes) -> str:
    """Encodes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decodes base64url without padding, and raises ValueError for anything else."""
    if not _BASE64URL.fullmatch(text):
        raise ValueError("not base64url without padding")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def identifier(length: int, alphabet: str = string.ascii_uppercase + string.digits) -> str:
    """Returns a random string, such as a key ID."""
    return "".join(secrets.choice(alphabet) for _ in range(length))


def write_private(path: Path, text: str) -> str:
    """Writes a file with a secret, and returns its path as a string."""
    path.touch(mode=0o600)
    path.write_text(text)
    return str(path)
