"""Drives a server with the client that openapi-python-client generated: send, history, read, ban, upload.

Usage: drive.py ADDRESS ALICE_TOKEN ADMIN_TOKEN

The generated package must be importable as `scrollback_client`. Exit status 0 when every step answers as expected.
"""

import io
import sys
import uuid

from scrollback_client import AuthenticatedClient
from scrollback_client.api.conversations import mark_read, put_conversation
from scrollback_client.api.media import get_media, upload_media
from scrollback_client.api.members import ban_user, list_bans, unban_user
from scrollback_client.api.messages import get_history, send_message
from scrollback_client.models import (
    BanUserBody,
    MarkReadBody,
    PutConversationBody,
    Submission,
    UploadMediaType,
)
from scrollback_client.types import File

GROUP = "group:generated-client"


def check(response, *statuses):
    """Returns the parsed body of a response that has one of the expected statuses."""
    status = int(response.status_code)
    assert status in statuses, f"expected {statuses}, got {status}: {response.content[:400]!r}"
    return response.parsed


def main(address, alice_token, admin_token):
    alice = AuthenticatedClient(base_url=address, token=alice_token)
    admin = AuthenticatedClient(base_url=address, token=admin_token)

    body = PutConversationBody.from_dict({"members": ["alice", "bob"], "name": "Generated"})
    check(put_conversation.sync_detailed(GROUP, client=admin, body=body), 200, 201)

    message = {"id": str(uuid.uuid4()), "type": "text", "content": {"text": "hello مرحبا 👋"}}
    sent = check(send_message.sync_detailed(GROUP, client=alice, body=Submission.from_dict(message)), 201)
    again = check(send_message.sync_detailed(GROUP, client=alice, body=Submission.from_dict(message)), 200)
    assert sent.timetoken == again.timetoken, "sending the same ID again must return the first result"

    page = check(get_history.sync_detailed(GROUP, client=alice, limit=10), 200)
    # The schema of this answer is a combination that the generator leaves untyped.
    found = [m for m in page["messages"] if m["id"] == message["id"]]
    assert len(found) == 1 and found[0]["content"]["text"] == message["content"]["text"], page

    place = MarkReadBody.from_dict({"seq": found[0]["seq"], "epoch": found[0]["epoch"]})
    summary = check(mark_read.sync_detailed(GROUP, client=alice, body=place), 200)
    assert summary.read_seq == found[0]["seq"], summary

    check(ban_user.sync_detailed(GROUP, "bob", client=admin, body=BanUserBody.from_dict({"reason": "spam"})), 204)
    bans = check(list_bans.sync_detailed(GROUP, client=admin), 200)
    assert [b.user for b in bans.bans] == ["bob"], bans
    refused = check(ban_user.sync_detailed(GROUP, "bob", client=alice, body=BanUserBody.from_dict({})), 403)
    assert refused.code == "forbidden", refused
    check(unban_user.sync_detailed(GROUP, "bob", client=admin), 204)

    content = b"notes of a generated client\n" * 100
    file = check(
        upload_media.sync_detailed(
            client=alice,
            body=File(payload=io.BytesIO(content), file_name="notes.txt"),
            conversation=GROUP,
            type_=UploadMediaType.FILE,
            name="notes.txt",
        ),
        201,
    )
    assert file.size == len(content), file
    downloaded = get_media.sync_detailed(str(file.media), client=alice)
    assert int(downloaded.status_code) == 200 and downloaded.content == content, downloaded.status_code
    print("generated Python client: send, history, read, ban, upload and download work")


if __name__ == "__main__":
    main(*sys.argv[1:])
