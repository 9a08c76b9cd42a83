"""Regenerates the keys and tokens of this folder with PyJWT and cryptography, without the code under test.

    scripts/push-stand-ins.sh && .build/push-stand-ins/bin/python Tests/Fixtures/TokenKeys/make.py

All tokens are issued at the time NOW, and the tests verify them as of NOW. The private keys are in the repository so
that tests can sign tokens as an issuer. No deployment uses these keys.
"""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization as coding
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

HERE = Path(__file__).parent
NOW = 1_800_000_000
PEM = coding.Encoding.PEM


def public(key):
    return key.public_key().public_bytes(PEM, coding.PublicFormat.SubjectPublicKeyInfo).decode()


def private(key, form=coding.PrivateFormat.PKCS8):
    return key.private_bytes(PEM, form, coding.NoEncryption()).decode()


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def write(name, text):
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def jwk(key, **members):
    kind = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((made for of, made in kind.items() if isinstance(key, of)), OKPAlgorithm)
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **members}


def raw(header, claims, sign):
    """Returns a token with any header, including headers that JWT libraries refuse to write."""
    text = b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())
    return text + "." + b64(sign(text.encode()))


rsa_key, rsa_other, rsa_web = (rsa.generate_private_key(65537, 2048) for _ in range(3))
p256_key, p256_web = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ed_key, ed_web = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
keys = {"rsa": (rsa_key, "RS256"), "p256": (p256_key, "ES256"), "ed25519": (ed_key, "EdDSA")}

for name, (key, _) in keys.items():
    write(f"good/{name}.pem", public(key))
    write(f"private/{name}.pem", private(key))
web = {"web-rsa": (rsa_web, "RS256"), "web-p256": (p256_web, "ES256"), "web-ed25519": (ed_web, "EdDSA")}
jwks = [jwk(key, kid=name, alg=alg, use="sig") for name, (key, alg) in web.items()]
for name, (key, _) in web.items():
    write(f"private/{name}.pem", private(key))
# Real key sets contain more keys: encryption keys and keys for algorithms that the server does not support.
p384 = ec.generate_private_key(ec.SECP384R1())
others = [
    jwk(rsa_other, kid="encrypts", use="enc", alg="RSA-OAEP"),
    jwk(rsa_other, kid="long", use="sig", alg="RS512"),
    jwk(p384, kid="p384", use="sig"),
    {"kty": "AKP", "alg": "ML-DSA-44", "kid": "later", "pub": "AAAA"},
    {**jwk(rsa_other, kid="signs"), "key_ops": ["sign"]},
]
write("set.json", json.dumps({"keys": jwks + others}, indent=1) + "\n")
write(
    "pkcs1.pem",
    rsa_key.public_key().public_bytes(PEM, coding.PublicFormat.PKCS1).decode(),
)

# Files that the server must refuse, named after their defect.
weak = rsa.generate_private_key(65537, 1024)
write("bad/weak.pem", public(weak))
write("bad/private.pem", private(rsa_key))
write("bad/private-pkcs1.pem", private(rsa_key, coding.PrivateFormat.TraditionalOpenSSL))
write("bad/private-ec.pem", private(p256_key, coding.PrivateFormat.TraditionalOpenSSL))
write(
    "bad/private-encrypted.pem",
    rsa_key.private_bytes(PEM, coding.PrivateFormat.PKCS8, coding.BestAvailableEncryption(b"x")).decode(),
)
write("bad/both.pem", private(ed_key) + public(ed_key))
write("bad/two.pem", public(p256_key) + public(ed_key))
write("bad/p384.pem", public(p384))
write("bad/secp256k1.pem", public(ec.generate_private_key(ec.SECP256K1())))
write("bad/ed448.pem", public(ed448.Ed448PrivateKey.generate()))
write("bad/dsa.pem", public(dsa.generate_private_key(2048)))
write(
    "bad/compressed.pem",
    "-----BEGIN PUBLIC KEY-----\n"
    + base64.b64encode(
        bytes.fromhex("3039301306072a8648ce3d020106082a8648ce3d030107032200")
        + p256_key.public_key().public_bytes(coding.Encoding.X962, coding.PublicFormat.CompressedPoint)
    ).decode()
    + "\n-----END PUBLIC KEY-----\n",
)
write("bad/cut.pem", public(rsa_key)[:200])
write("bad/no-end.pem", public(rsa_key).replace("-----END PUBLIC KEY-----\n", ""))
write("bad/not-base64.pem", "-----BEGIN PUBLIC KEY-----\n???\n-----END PUBLIC KEY-----\n")
write("bad/not-a-key.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
write("bad/empty.pem", "")
write("bad/words.pem", "hello\n")


def bad_set(name, *members):
    write(f"bad/{name}.json", json.dumps({"keys": list(members)}) + "\n")


secret = b64(b"a secret that both sides have, 32")
bad_set("shared", {"kty": "oct", "kid": "a", "alg": "HS256", "k": secret})
bad_set("shared-without-alg", {"kty": "oct", "k": secret})
bad_set("shared-alg", jwk(rsa_key, kid="a", alg="HS256"))
bad_set("none-alg", jwk(rsa_key, kid="a", alg="none"))
bad_set("private-rsa", RSAAlgorithm.to_jwk(rsa_key, as_dict=True) | {"kid": "a"})
bad_set("private-p256", ECAlgorithm.to_jwk(p256_key, as_dict=True) | {"kid": "a"})
bad_set("private-ed25519", OKPAlgorithm.to_jwk(ed_key, as_dict=True) | {"kid": "a"})
bad_set("weak", jwk(weak, kid="a"))
bad_set("exponent", jwk(rsa_key, kid="a") | {"e": "AQ"})
bad_set("no-modulus", {"kty": "RSA", "e": "AQAB"})
bad_set("off-curve", jwk(p256_key, kid="a") | {"y": b64(bytes(31) + b"\1")})
bad_set("short-point", {"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"})
bad_set("short-ed25519", {"kty": "OKP", "crv": "Ed25519", "x": "AAAA"})
bad_set("twice", jwk(p256_key, kid="a"), jwk(ed_key, kid="a"))
bad_set("nothing")
bad_set("only-others", *others)
write("bad/one-key.json", json.dumps(jwk(p256_key, kid="a")) + "\n")
write("bad/cut.json", '{"keys": [{"kty": "EC",')
write("bad/list.json", json.dumps([jwk(p256_key, kid="a")]) + "\n")
write("bad/number.json", '{"keys": [{"kty": "RSA", "n": 7, "e": "AQAB"}]}\n')

claims = {"sub": "alice", "iat": NOW, "exp": NOW + 3600}
tokens = {}


def token(name, key, alg, kid=None, headers=None, without=(), **changes):
    made = {**claims, **changes}
    for missing in without:
        del made[missing]
    head = {**({"kid": kid} if kid else {}), **(headers or {})}
    # The JWS layer is used because the JWT layer refuses to write some of these claims.
    tokens[name] = jwt.api_jws.encode(json.dumps(made).encode(), key, algorithm=alg, headers=head)


def rs256(**changes):
    return lambda name: token(name, rsa_key, "RS256", "rsa", **changes)


for name, (key, alg) in {**keys, **web}.items():
    token(f"good {name}", key, alg, name)
token("good without a kid", p256_key, "ES256")
token("good at+jwt", rsa_key, "RS256", "rsa", {"typ": "at+jwt"})
tokens["good Ed25519"] = raw({"alg": "Ed25519", "kid": "ed25519"}, claims, ed_key.sign)

for name, changes in {
    "iat by fractions": {"iat": NOW - 0.5},
    "a year": {"exp": NOW + 366 * 86400},
    "clock ahead": {"iat": NOW + 59, "nbf": NOW + 59},
    "clock far ahead": {"iat": NOW + 61},
    "negative iat": {"iat": -1, "exp": 100},
    "more than a year": {"exp": NOW + 366 * 86400 + 1},
    "ends before it begins": {"exp": NOW - 1},
    "expired": {"iat": NOW - 100, "exp": NOW},
    "not yet": {"nbf": NOW + 61},
    "no sub": {"without": ["sub"]},
    "no iat": {"without": ["iat"]},
    "no exp": {"without": ["exp"]},
    "exp as text": {"exp": str(NOW + 3600)},
    "sub as a number": {"sub": 7},
    "empty sub": {"sub": ""},
    "long sub": {"sub": "a" * 1000},
    "iss": {"iss": "https://issuer.example"},
    "other iss": {"iss": "https://issuer.example/"},
    "aud": {"aud": "chat"},
    "auds": {"aud": ["mail", "chat"]},
    "other aud": {"aud": ["mail"]},
    "no auds": {"aud": []},
    "aud as a number": {"aud": 7},
    "scopes": {"scopes": ["read", "write"]},
    "scope": {"scope": "read write"},
    "scope of others": {"scope": "openid read profile"},
    "only scopes of others": {"scope": "openid profile"},
    "empty scope": {"scope": ""},
    "empty scopes": {"scopes": []},
    "unknown scopes": {"scopes": ["read", "raed"]},
    "admin scopes": {"scopes": ["admin"]},
    "admin scope": {"scope": "admin read"},
    "only admin scope": {"scope": "admin"},
    "both scopes": {"scopes": ["read"], "scope": "read"},
    "media": {"scopes": ["media"], "media": "0198f3c2-7c1e-7000-8000-0123456789ab"},
}.items():
    rs256(**changes)(name)

for name, headers in {
    "crit": {"crit": ["exp"], "exp": NOW},
    "logout+jwt": {"typ": "logout+jwt"},
    "dpop+jwt": {"typ": "dpop+jwt"},
}.items():
    token(name, rsa_key, "RS256", "rsa", headers)

pem = public(rsa_key).encode()
admin = {**claims, "scopes": ["admin"]}
hs = lambda key: lambda text: hmac.new(key, text, hashlib.sha256).digest()
tokens["none"] = raw({"alg": "none", "kid": "rsa"}, admin, lambda _: b"")
tokens["None"] = raw({"alg": "None", "kid": "rsa"}, admin, lambda _: b"")
tokens["HS256 by the public key"] = raw({"alg": "HS256", "kid": "rsa"}, admin, hs(pem))
tokens["HS256 by the public key, stripped"] = raw({"alg": "HS256", "kid": "rsa"}, admin, hs(pem.strip()))
tokens["HS256 without a kid"] = raw({"alg": "HS256"}, admin, hs(pem))
tokens["RS512"] = jwt.encode(claims, rsa_key, "RS512", {"kid": "rsa"})
tokens["PS256"] = jwt.encode(claims, rsa_key, "PS256", {"kid": "rsa"})
rs = RSAAlgorithm(RSAAlgorithm.SHA256)
tokens["alg of another key"] = raw({"alg": "ES256", "kid": "rsa"}, claims, lambda text: rs.sign(text, rsa_key))
tokens["alg of another key, no kid"] = raw({"alg": "ES256"}, claims, lambda text: rs.sign(text, rsa_key))
token("kid of another key", p256_key, "ES256", "rsa")
token("kid of nobody", rsa_key, "RS256", "nobody")
token("another's signature", rsa_other, "RS256", "rsa")
token(
    "key in the header", rsa_other, "RS256", "rsa",
    {"jwk": jwk(rsa_other), "jku": "https://attacker.example/set.json", "x5u": "https://attacker.example/x"},
)
tokens["zeros"] = raw({"alg": "ES256", "kid": "p256"}, claims, lambda _: bytes(64))
header, _, signature = tokens["good rsa"].split(".")
tokens["changed"] = ".".join([header, b64(json.dumps(admin).encode()), signature])
tokens["without a signature"] = tokens["good rsa"].rsplit(".", 1)[0] + "."
tokens["cut"] = tokens["good rsa"][:-8]
tokens["no alg"] = raw({"kid": "rsa"}, claims, lambda text: rs.sign(text, rsa_key))
write("tokens.json", json.dumps(tokens, indent=1) + "\n")
