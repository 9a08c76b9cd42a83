"""Drafts on several devices of a user."""

import pytest

CREW, OTHERS = "group:crew", "group:others"


@pytest.fixture
def device(world):
    """Opens devices of alice, each with a network of its own."""
    for name in ("crew", "others"):
        world.server.group(name, "alice", "bob")
        world.server.send("bob", f"group:{name}", "hello")

    def open_device():
        network = world.network()
        tab = world.tab("alice", origin=network.url)
        tab.online()
        tab.until("the conversations are listed", lambda: tab.recent(CREW) and tab.recent(OTHERS))
        return tab, network

    return open_device


def write(tab, text, conversation=CREW):
    tab.run("([id, text]) => test.client.conversation(id).setDraft(text)", conversation, text)


def draft(tab, conversation=CREW):
    entry = tab.recent(conversation)
    return entry["draft"] and entry["draft"]["text"]


def shows(tab, text):
    tab.until(f"the draft is {text}", lambda: draft(tab) == text)


def is_accepted(tab):
    """Waits until the server has accepted the drafts of a device."""
    accepted = "async () => (await test.stored(['drafts'])).drafts.every(({ pending }) => pending === undefined)"
    tab.until("the draft is accepted", lambda: tab.run(accepted))


def test_a_draft_is_shown_on_all_devices_until_one_of_them_sends_it(world, device):
    (first, _), (second, _) = device(), device()
    write(first, "Dear crew")
    shows(second, "Dear crew")
    write(second, "Dear crew!")
    shows(first, "Dear crew!")
    first.send(CREW, "another message")
    first.send(CREW, "Dear crew!")
    shows(first, None)
    shows(second, None)
    (third, _) = device()
    write(third, "later", OTHERS)
    third.until("the draft is on the server", lambda: draft(first, OTHERS) == "later")
    assert draft(third) is None


def test_a_draft_that_was_written_offline_replaces_an_earlier_one(world, device):
    (first, network), (second, _) = device(), device()
    network.close_network()
    first.until("the client notices", lambda: first.connection != "online")
    write(second, "written online")
    is_accepted(second)
    write(first, "written offline")
    network.open_network()
    shows(second, "written offline")
    shows(first, "written offline")


def test_drafts_that_changed_while_a_device_was_offline_arrive_with_the_next_connection(world, device):
    (first, network), (second, _) = device(), device()
    write(first, "one")
    shows(second, "one")
    network.close_network()
    first.until("the client notices", lambda: first.connection != "online")
    write(second, "")
    write(second, "two", OTHERS)
    second.run("async () => { await (await test.client.conversation('group:crew').send('sent')).sent() }")
    network.open_network()
    shows(first, None)
    first.until("the other draft arrives", lambda: draft(first, OTHERS) == "two")


def test_a_draft_that_was_deleted_while_a_device_was_offline_does_not_come_back(world, device):
    (first, _), (second, network) = device(), device()
    write(first, "deleted later")
    shows(second, "deleted later")
    network.close_network()
    second.until("the client notices", lambda: second.connection != "online")
    write(first, "")
    network.open_network()
    shows(second, None)
    write(second, "another", OTHERS)
    first.until("the other draft arrives", lambda: draft(first, OTHERS) == "another")
    assert draft(first) is None


def test_a_device_lists_the_drafts_before_it_sends_its_first_one(world, device):
    tab, _ = device()
    tab.run(
        """() => {
            test.sent = [];
            const { send } = WebSocket.prototype;
            WebSocket.prototype.send = function (frame) {
                const { type } = JSON.parse(frame);
                if (["drafts", "putDraft"].includes(type)) test.sent.push(type);
                send.call(this, frame);
            };
        }"""
    )
    for text in ("the first", "the second", "the third"):
        write(tab, text)
        is_accepted(tab)
    assert tab.run("() => test.sent") == ["drafts", "putDraft", "putDraft", "putDraft"]


def test_an_encrypted_draft_is_left_to_the_devices_that_can_read_it(world, device):
    tab, _ = device()
    token = world.server.token("alice")
    for conversation, content in ((CREW, {"encrypted": "AAAA"}), (OTHERS, {"text": "readable", "mentions": {}})):
        status, answer = world.server.call("PUT", f"/v1/drafts/{conversation}", {"draft": content}, token)
        assert status == 200, answer
    tab.until("the readable draft arrives", lambda: draft(tab, OTHERS) == "readable")
    assert draft(tab) is None
