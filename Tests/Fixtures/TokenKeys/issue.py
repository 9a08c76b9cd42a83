"""Issues and verifies tokens with PyJWT, independently of the code under test.

Reads one JSON object per line and writes one line per object:

{"key": "PEM file", "alg": "RS256", "kid": "name", "claims": {…}} → a token
{"token": "…", "secret": "base64"} → the token's claims, if its HS256 signature is valid
"""

import base64
import json
import sys

import jwt

for line in sys.stdin:
    order = json.loads(line)
    if "token" in order:
        claims = jwt.decode(order["token"], base64.b64decode(order["secret"]), algorithms=["HS256"])
        print(json.dumps(claims), flush=True)
    else:
        with open(order["key"], encoding="ascii") as file:
            key = file.read()
        headers = {"kid": order["kid"]} if "kid" in order else None
        print(jwt.encode(order["claims"], key, order["alg"], headers), flush=True)
