"""Messages that the server sends at a later time."""

CREW = "group:crew"
LATER = 3_600_000


def schedule(tab, text, delay=LATER, **options):
    """Schedules a message in milliseconds from now, and returns the ID of its handle."""
    return tab.run(
        """async ([id, text, delay, options]) => {
            const conversation = test.client.conversation(id);
            test.handle = await conversation.schedule(text, new Date(Date.now() + delay), {}, options);
            return test.handle.id;
        }""",
        CREW,
        text,
        delay,
        options,
    )


def sent(tab):
    tab.run("() => test.handle.sent().then(() => {})")


def scheduled(tab):
    return tab.run(
        """async () => (await test.client.scheduledMessages()).map(({ id, conversation, content, failure }) =>
            ({ id, conversation, text: content.text, failure }))"""
    )


def opened(world):
    world.server.group("crew", "alice", "bob")
    alice = world.tab("alice")
    alice.online()
    return alice


def test_a_scheduled_message_is_listed_replaced_and_cancelled(world):
    alice = opened(world)
    id = schedule(alice, "good night")
    sent(alice)
    expected = {"id": id, "conversation": CREW, "failure": None}
    assert scheduled(alice) == [{**expected, "text": "good night"}]
    schedule(alice, "good morning", replacing=id)
    sent(alice)
    assert scheduled(alice) == [{**expected, "text": "good morning"}]
    date = "async () => (await test.client.scheduledMessages())[0].sendAt > new Date()"
    assert alice.run(date) is True
    cancel = "([id]) => test.codeOf(() => test.client.cancelScheduledMessage(id))"
    assert alice.run(cancel, id) is None
    assert scheduled(alice) == [] and alice.run(cancel, id) == "unknown-message"
    assert world.server.history("bob", CREW) == []


def test_a_message_that_is_scheduled_offline_reaches_the_server_after_a_reload(world):
    alice = opened(world)
    alice.watch(CREW)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    id = schedule(alice, "good night")
    assert alice.unsent() == 1 and alice.items(CREW) == []
    world.proxy.open_network()
    alice.load()
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert [message["id"] for message in scheduled(alice)] == [id]


def test_a_scheduled_message_whose_time_has_passed_is_sent_at_once(world):
    alice = opened(world)
    alice.watch(CREW)
    id = schedule(alice, "late", delay=-1000)
    alice.until("the message is shown", lambda: [item["id"] for item in alice.items(CREW)] == [id])
    assert scheduled(alice) == []


def test_an_invalid_time_is_an_error(world):
    alice = opened(world)
    code = "([time]) => test.codeOf(() => test.client.conversation('group:crew').schedule('hi', new Date(time)))"
    assert alice.run(code, "never") == "invalid-parameter"
    schedule(alice, "too late", delay=400 * 24 * LATER)
    refused = "() => test.codeOf(() => test.handle.sent())"
    assert alice.run(refused) == "invalid-parameter"
