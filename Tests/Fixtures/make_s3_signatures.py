#!/usr/bin/env python3
"""Writes S3/signatures.json: requests to an S3 store as botocore builds and signs them.

botocore is the client library of Amazon. It needs `pip install botocore`, and no network: the requests are taken from
it just before they would be sent. The file is committed, so the script runs only when a request is added.
"""

import datetime
import json
import os
import urllib.parse
from unittest import mock

import botocore.auth
import botocore.session
from botocore.awsrequest import AWSResponse
from botocore.config import Config

KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "FwoGZXIvYXdzEXAMPLE//////////wEaD+token/with+signs=="
TIME = datetime.datetime(2026, 11, 26, 23, 5, 9, tzinfo=datetime.timezone.utc)
BUCKET = "chat-files"

KEYS = [
    "blobs/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "uploads/a_B-9~x/0000000000000-8388608-1764198309000",
    "a folder/with spaces/x",
    "الملفات/صورة",
    "🐦/albatross 🚀.bin",
    "a+b=c&d?e#f%20g",
    "dots/../kept/./here//twice",
    "quotes'\"()*!,;:@$[]",
]
PREFIXES = ["", "blobs/", "a folder/+=&/", "الملفات/🐦"]


def capture(token, call):
    """Returns the request that a call of the client builds and signs."""
    session = botocore.session.Session()
    session.set_credentials(KEY, SECRET, token)
    client = session.create_client(
        "s3", region_name="eu-central-1", endpoint_url="https://files.example:9443",
        config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
                      retries={"max_attempts": 0}))
    found = []

    def take(request, **_):
        found.append(request)
        return AWSResponse(request.url, 200, {}, mock.Mock(stream=lambda *_: iter([b""])))

    client.meta.events.register("before-send.s3", take)
    with mock.patch.object(botocore.auth, "get_current_datetime", lambda *_, **__: TIME):
        try:
            call(client)
        except Exception as error:  # The empty response is not what the client expects.
            if not found:
                raise error
    return found[0]


def vector(key, query, token, call):
    request = capture(token, call)
    headers = {name.lower(): value.decode() if isinstance(value, bytes) else value
               for name, value in request.headers.items()}
    signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    headers["host"] = "files.example:9443"
    return {
        "method": request.method,
        "key": key,
        "query": query,
        "token": token,
        "path": urllib.parse.urlsplit(request.url).path,
        "headers": {name: headers[name] for name in signed},
        "authorization": headers["authorization"],
    }


def main():
    vectors = []
    for token in (None, TOKEN):
        for key in KEYS:
            vectors.append(vector(key, {}, token, lambda c: c.get_object(
                Bucket=BUCKET, Key=key, Range="bytes=5-9")))
            vectors.append(vector(key, {}, token, lambda c: c.put_object(
                Bucket=BUCKET, Key=key, Body="Grüße 🐦".encode(), ContentType="application/octet-stream")))
            vectors.append(vector(key, {"partNumber": "7", "uploadId": "VXBsb2FkIElE+/="}, token,
                                  lambda c: c.upload_part(Bucket=BUCKET, Key=key, PartNumber=7,
                                                          UploadId="VXBsb2FkIElE+/=", Body=b"part")))
        vectors.append(vector(KEYS[0], {}, token, lambda c: c.delete_object(Bucket=BUCKET, Key=KEYS[0])))
        vectors.append(vector(KEYS[0], {"uploads": ""}, token, lambda c: c.create_multipart_upload(
            Bucket=BUCKET, Key=KEYS[0])))
        for prefix in PREFIXES:
            query = {"list-type": "2", "prefix": prefix, "max-keys": "500", "delimiter": "/",
                     "continuation-token": "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=", "encoding-type": "url"}
            vectors.append(vector("", query, token, lambda c: c.list_objects_v2(
                Bucket=BUCKET, Prefix=prefix, MaxKeys=500, Delimiter="/",
                ContinuationToken=query["continuation-token"])))
    content = {
        "accessKey": KEY, "secretKey": SECRET, "region": "eu-central-1", "bucket": BUCKET,
        "endpoint": "https://files.example:9443", "time": TIME.isoformat().replace("+00:00", "Z"), "vectors": vectors,
    }
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "S3", "signatures.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, indent=1)
        file.write("\n")
    print(f"{len(vectors)} requests")


if __name__ == "__main__":
    main()
