"""Posts through an incoming webhook with slack-sdk, apprise and a recorded request of Alertmanager.

Usage: incoming-webhooks.py ADDRESS ADMIN_TOKEN

Exit status 0 when every post is stored with the expected text.
"""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import apprise
from slack_sdk.webhook import WebhookClient

GROUP = "group:incoming-webhooks"
ALERTMANAGER = Path(__file__).with_name("alertmanager-slack.json")


def call(address, method, path, token=None, body=None):
    """Returns the status and the text of an answer."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"}, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def main(address, admin):
    def manage(method, path, body=None):
        status, text = call(address, method, path, admin, body)
        assert status in (200, 201, 204), f"{method} {path}: {status} {text}"
        return json.loads(text or "{}")

    manage("PUT", f"/v1/conversations/{GROUP}", {"members": ["bot", "alice"]})
    path = manage("PUT", "/v1/admin/hooks/clients", {"conversation": GROUP, "user": "bot"})["url"]
    client = WebhookClient(address + path)

    sent = client.send(text="slack-sdk: <https://example.com/1|one> &amp; <!channel>")
    assert (sent.status_code, sent.body) == (200, "ok"), (sent.status_code, sent.body)
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "*blocks* of slack-sdk"}}
    sent = client.send(text="not shown", blocks=[block])
    assert (sent.status_code, sent.body) == (200, "ok"), (sent.status_code, sent.body)
    refused = client.send(text="")
    assert (refused.status_code, refused.body) == (400, "no_text"), (refused.status_code, refused.body)
    wrong = WebhookClient(address + path[:-1]).send(text="no")
    assert (wrong.status_code, wrong.body) == (403, "invalid_token"), (wrong.status_code, wrong.body)

    place = urlsplit(address)
    notifier = apprise.Apprise()
    segment = path.removeprefix("/v1/hooks/")
    scheme = {"http": "mmost", "https": "mmosts"}[place.scheme]
    assert notifier.add(f"{scheme}://{place.netloc}/v1/{segment}"), "apprise does not accept the URL"
    assert notifier.notify(title="apprise", body="a & b"), "apprise reports a failure"

    status, text = call(address, "POST", path, body=ALERTMANAGER.read_bytes())
    assert (status, text) == (200, "ok"), (status, text)

    page = manage("GET", f"/v1/conversations/{GROUP}/messages?limit=10&sort=oldestFirst")
    texts = [message["content"]["text"] for message in page["messages"]]
    assert all(message["sender"] == "bot" for message in page["messages"]), page
    assert texts[0] == "slack-sdk: one (https://example.com/1) & @channel", texts
    assert texts[1] == "*blocks* of slack-sdk", texts
    assert "apprise" in texts[2] and "a & b" in texts[2], texts
    assert texts[3] == (
        "FIRING: DiskFull (http://alertmanager.example.com:9093/#/alerts?receiver=chat)\n"
        "db1: 97 % & rising\n"
        "severity: critical\n"
        "Runbook (https://runbooks.example.com/disk-full)"
    ), texts
    assert len(texts) == 4, texts

    manage("DELETE", "/v1/admin/hooks/clients")
    gone = client.send(text="late")
    assert (gone.status_code, gone.body) == (404, "no_service"), (gone.status_code, gone.body)
    print("incoming webhooks: slack-sdk, apprise and Alertmanager post")


main(*sys.argv[1:])
