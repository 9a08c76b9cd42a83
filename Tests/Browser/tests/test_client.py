"""The SDK in a real browser, against the built server."""

from harness.browser import part
from harness.waiting import eventually

CREW = "group:crew"


def crew(world, messages=0):
    world.server.group("crew", "alice", "bob")
    for number in range(messages):
        world.server.send("bob", CREW, f"message {number + 1}")


def stored_texts(world):
    return [message["content"]["text"] for message in world.server.history("bob", CREW)]


def test_a_new_client_shows_the_list_the_messages_and_the_unread_count(world):
    crew(world, messages=30)
    alice = world.tab("alice")
    alice.until("the list has the group", lambda: alice.recent(CREW))
    assert alice.unread(CREW) == 30
    assert alice.recent(CREW)["lastMessage"]["content"]["json"]["text"] == "message 30"
    alice.watch(CREW)
    expected = [f"message {number}" for number in range(1, 31)]
    alice.until("the timeline is complete", lambda: alice.texts(CREW) == expected)
    assert alice.run("() => test.view('group:crew').firstUnread") == alice.items(CREW)[0]["id"]


def test_a_list_with_a_limit_has_the_first_conversations_after_each_change(world):
    groups = [f"group:g{number}" for number in range(4)]
    for group in groups:
        world.server.group(group.split(":")[1], "alice", "bob")
        world.server.send("bob", group, "hello")
    alice = world.tab("alice")
    alice.run("() => test.client.recents({ limit: 2 }).subscribe((list) => (test.limited = list))")

    def shows(*numbers):
        expected = [groups[number] for number in numbers]
        alice.until(f"the list has {expected}", lambda: listed() == expected)

    def listed():
        return alice.run("() => test.limited.conversations.map(({ id }) => id)")

    def change(number, call):
        alice.run(f"([id]) => test.client.conversation(id).{call}", groups[number])

    shows(3, 2)
    world.server.send("bob", groups[0], "again")
    shows(0, 3)
    change(1, "setPinned(true)")
    shows(1, 0)
    change(1, "setPinned(false)")
    shows(0, 3)
    change(0, "removeFromRecents()")
    shows(3, 2)
    change(2, "setDraft('later')")
    alice.until("the draft is shown", lambda: alice.run("() => test.limited.conversations[1].draft?.text") == "later")
    assert listed() == [groups[3], groups[2]]


def test_messages_arrive_while_the_page_is_open_in_both_directions(world):
    crew(world)
    alice, bob = world.tab("alice"), world.tab("bob")
    for tab in (alice, bob):
        tab.online()
        tab.watch(CREW)
    first = alice.send(CREW, "hello")
    bob.until("bob sees the message", lambda: bob.texts(CREW) == ["hello"])
    bob.send(CREW, "hi")
    alice.until("alice sees the answer", lambda: alice.texts(CREW) == ["hello", "hi"])
    assert alice.items(CREW)[0]["id"] == first
    assert "message" in alice.run("() => test.events")


def test_a_message_sent_offline_survives_a_reload_and_is_stored_once(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    sent = [alice.send(CREW, f"offline {number}") for number in range(3)]
    alice.until("the messages are shown", lambda: alice.texts(CREW) == ["offline 0", "offline 1", "offline 2"])
    assert {item["type"] for item in alice.items(CREW)} == {"pending"}
    world.proxy.open_network()
    alice.load()
    alice.watch(CREW)
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert [message["id"] for message in world.server.history("bob", CREW)] == sent
    alice.until("the messages are stored", lambda: {item["type"] for item in alice.items(CREW)} == {"message"})


def test_closing_a_client_ends_its_views_and_waits_and_keeps_an_unsent_message(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    code = alice.run(
        """async () => {
            const conversation = test.client.conversation("group:crew");
            const handle = await conversation.send("offline");
            const sent = test.codeOf(() => handle.sent());
            const shown = (async () => {
                for await (const _ of conversation.timeline());
            })();
            await test.client.close();
            await shown;
            return await sent;
        }"""
    )
    assert code == "closed"
    world.proxy.open_network()
    alice.load()
    alice.until("the message is sent", lambda: alice.unsent() == 0)
    assert stored_texts(world) == ["offline"]


def test_a_message_whose_answer_was_lost_is_stored_once(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    for number in range(10):
        alice.send(CREW, f"message {number}")
        world.proxy.cut()
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    texts = stored_texts(world)
    assert texts == [f"message {number}" for number in range(10)]
    alice.until("the timeline equals the log", lambda: alice.texts(CREW) == texts)


def test_missed_messages_arrive_after_a_restart_of_the_server(world):
    crew(world, messages=5)
    alice = world.tab("alice")
    alice.watch(CREW)
    alice.until("the timeline is complete", lambda: len(alice.items(CREW)) == 5)
    world.server.kill()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.send(CREW, "from alice")
    world.server.start()
    world.server.send("bob", CREW, "from bob")
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    texts = stored_texts(world)
    assert sorted(texts[5:]) == ["from alice", "from bob"]
    alice.until("the timeline equals the log", lambda: alice.texts(CREW) == texts)


def test_a_client_connects_again_after_the_clock_was_set_back(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    # The clock is set back when the timer of the next attempt already runs.
    alice.run(
        """() => {
            const now = Date.now;
            const setBack = () => {
                Date.now = () => now() - 3_600_000;
                test.isSetBack = true;
            };
            test.client.connection.subscribe(({ state }) => {
                if (state === "waiting") setTimeout(setBack);
            });
        }"""
    )
    world.proxy.close_network()
    alice.until("the clock is set back", lambda: alice.run("() => test.isSetBack === true"))
    world.proxy.open_network()
    alice.online()


def test_tabs_share_one_connection_and_another_takes_over(world):
    crew(world)
    first = world.tab("alice")
    first.online()
    second = world.tab("alice", first.profile)
    second.online()
    for tab in (first, second):
        tab.watch(CREW)
    status, listed = world.server.call("GET", "/v1/admin/connections?user=alice")
    assert status == 200 and len(listed["connections"]) == 1, listed
    second.send(CREW, "from the second tab")
    for tab in (first, second):
        tab.until("the tab shows the message", lambda tab=tab: tab.texts(CREW) == ["from the second tab"])
    first.close()
    world.server.send("bob", CREW, "hello")
    second.until("the other tab leads", lambda: second.texts(CREW) == ["from the second tab", "hello"])
    second.send(CREW, "alone")
    second.until("everything is sent", lambda: second.unsent() == 0)
    assert stored_texts(world) == ["from the second tab", "hello", "alone"]


def test_reading_in_one_place_reads_everywhere(world):
    crew(world, messages=10)
    alice, other = world.tab("alice"), world.tab("alice")
    for tab in (alice, other):
        tab.until("ten messages are unread", lambda tab=tab: tab.unread(CREW) == 10)
    alice.watch(CREW)
    alice.until("the timeline is complete", lambda: len(alice.items(CREW)) == 10)
    middle = alice.items(CREW)[4]["id"]
    alice.run("([id]) => test.client.conversation('group:crew').markRead(id)", middle)
    for tab in (alice, other):
        tab.until("five messages are unread", lambda tab=tab: tab.unread(CREW) == 5)
    alice.run("() => test.client.conversation('group:crew').markRead()")
    other.until("nothing is unread", lambda: other.unread(CREW) == 0)
    assert world.server.head("alice", CREW)["unread"] == 0
    other.run("() => test.client.conversation('group:crew').markUnread()")
    alice.until("the conversation is marked", lambda: alice.recent(CREW)["isMarkedUnread"])


def test_reads_and_settings_made_offline_reach_the_server_after_a_reload(world):
    crew(world, messages=3)
    alice = world.tab("alice")
    alice.until("three messages are unread", lambda: alice.unread(CREW) == 3)
    alice.online()
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.run(
        """async () => {
            const conversation = test.client.conversation("group:crew");
            await conversation.markRead();
            await conversation.setPinned(true);
            await conversation.setDraft("not sent");
        }"""
    )
    alice.until("nothing is unread", lambda: alice.unread(CREW) == 0)
    world.proxy.open_network()
    alice.load()

    def head():
        return world.server.head("alice", CREW)

    alice.until("the server has both", lambda: (head()["unread"], head()["pinned"]) == (0, True))
    alice.until("the list is as before", lambda: alice.recent(CREW)["isPinned"] and alice.unread(CREW) == 0)
    assert alice.recent(CREW)["draft"]["text"] == "not sent"


def test_a_new_leader_learns_what_the_other_tabs_observe(world):
    # The messages of a room arrive only with a subscription.
    room = "room:lobby"
    world.server.call("PUT", f"/v1/conversations/{room}", {})
    first = world.tab("alice")
    first.online()
    second, third = world.tab("alice", first.profile), world.tab("alice", first.profile)
    for tab in (second, third):
        tab.online()
    third.watch(room)
    observe = "test.client.conversation('room:lobby').subscription.subscribe((value) => (test.sub = value))"
    third.run(f"() => {{ {observe} }}")
    third.until("the tab is subscribed", lambda: third.run("() => test.sub.isActive"))
    first.close()
    world.server.send("bob", room, "hello")
    third.until("the message arrives", lambda: third.texts(room) == ["hello"])
    world.server.send("bob", room, "again")
    third.until("the next message arrives", lambda: third.texts(room) == ["hello", "again"])
    second.close()
    world.server.send("bob", room, "alone")
    third.until("the last message arrives", lambda: third.texts(room) == ["hello", "again", "alone"])


def test_changes_are_shown_at_once_and_on_all_devices(world):
    crew(world)
    alice, bob = world.tab("alice"), world.tab("bob")
    for tab in (alice, bob):
        tab.online()
        tab.watch(CREW)
    id = alice.send(CREW, "helo")
    bob.until("bob sees the message", lambda: bob.texts(CREW) == ["helo"])
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.run("async ([id]) => { await test.client.conversation('group:crew').edit(id, 'hello') }", id)
    alice.run("async ([id]) => { await test.client.conversation('group:crew').react(id, '👍') }", id)
    reaction = [{"type": "reaction", "value": "👍", "count": 1, "senders": ["alice"]}]
    alice.until("the changes are shown", lambda: alice.items(CREW)[0]["actions"] == reaction)
    assert alice.texts(CREW) == ["hello"]
    world.proxy.open_network()
    bob.until("bob sees the edit", lambda: bob.texts(CREW) == ["hello"] and bob.items(CREW)[0]["actions"] == reaction)
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    alice.run("async ([id]) => { await test.client.conversation('group:crew').unreact(id, '👍') }", id)
    bob.until("the reaction is gone", lambda: bob.items(CREW)[0]["actions"] == [])
    alice.run("async ([id]) => { await test.client.conversation('group:crew').recall(id) }", id)
    bob.until("the message is recalled", lambda: bob.texts(CREW) == [None])


def test_a_refused_message_shows_why_and_can_be_cancelled(world):
    crew(world)
    world.server.group("others", "bob")
    alice = world.tab("alice")
    alice.online()
    code = "async () => { await (await test.client.conversation('group:others').send('hi')).sent() }"
    assert alice.run(f"() => test.codeOf({code})") == "unknown-conversation"
    alice.watch("group:others")
    alice.until("the failure is shown", lambda: [item["state"] for item in alice.items("group:others")] == ["failed"])
    id = alice.items("group:others")[0]["id"]
    alice.run("([id]) => test.client.conversation('group:others').sendHandle(id).cancel()", id)
    alice.until("the message is gone", lambda: alice.items("group:others") == [])
    assert alice.unsent() == 0


def test_a_long_history_is_loaded_while_scrolling_and_a_gap_is_never_hidden(world):
    crew(world, messages=150)
    alice = world.tab("alice")
    alice.watch(CREW, window=20)
    alice.until("the newest messages are shown", lambda: alice.texts(CREW)[-1:] == ["message 150"])
    while alice.run("() => test.view('group:crew').hasOlder"):
        first = alice.items(CREW)[0]["id"]
        alice.run("async () => { await test.timeline('group:crew').loadOlder() }")
        alice.until("older messages are shown", lambda first=first: alice.items(CREW)[0]["id"] != first)
    alice.until("the first message is shown", lambda: alice.texts(CREW)[0] == "message 1")
    page = "async () => (await test.client.conversation('group:crew').history({limit: 50})).messages.length"
    assert alice.run(page) == 50
    alice.run("async () => { await test.timeline('group:crew').jump('firstUnread') }")
    alice.until("the first unread message is shown", lambda: "message 1" in alice.texts(CREW))
    seqs = [item["seq"] for item in alice.items(CREW) if item["type"] == "message"]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


def test_deleted_browser_data_is_reported_with_what_was_lost(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.send(CREW, "never sent")
    alice.run("() => test.client.close()")
    alice.run(
        """async () => {
            for (const { name } of await indexedDB.databases()) {
                await new Promise((resolve) => (indexedDB.deleteDatabase(name).onsuccess = resolve));
            }
        }"""
    )
    world.proxy.open_network()
    alice.load()
    assert alice.run("() => test.client.storage.value.loss") == {"unsent": 1}
    alice.load()
    assert alice.run("() => test.client.storage.value.loss") is None


def test_full_storage_is_an_error_of_the_send(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.run(
        """() => {
            const put = IDBObjectStore.prototype.put;
            IDBObjectStore.prototype.put = function (...values) {
                if (this.name === "outbox") throw new DOMException("Full.", "QuotaExceededError");
                return put.apply(this, values);
            };
        }"""
    )
    assert alice.run("() => test.codeOf(() => test.send('group:crew', 'hi'))") == "local-storage"


def test_a_failure_of_the_storage_is_shown_and_ends_with_the_next_success(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    alice.run(
        """() => {
            const put = IDBObjectStore.prototype.put;
            test.repair = () => (IDBObjectStore.prototype.put = put);
            IDBObjectStore.prototype.put = function (...values) {
                if (this.name === "messages") throw new DOMException("Full.", "QuotaExceededError");
                return put.apply(this, values);
            };
        }"""
    )
    world.server.send("bob", CREW, "does not fit")
    message = "() => test.client.storage.value.error?.message ?? ''"
    alice.until("the failure is shown", lambda: "full" in alice.run(message))
    alice.run("() => { test.repair() }")
    alice.until("the message arrives", lambda: alice.texts(CREW) == ["does not fit"])
    alice.until("the failure is over", lambda: alice.run(message) == "")


def test_a_token_of_another_user_is_rejected_and_a_new_one_connects(world):
    crew(world)
    alice = world.tab("alice")
    alice.run("() => test.client.close()")
    alice.run(
        """async ([wrong, right]) => {
            let isRight = false;
            const token = () => isRight ? right : wrong;
            test.client = await test.sdk.ChatClient.open({ server: location.origin, user: "alice", token });
            test.client.connection.subscribe((state) => (test.connection = state));
            test.correct = () => { isRight = true; test.client.connect(); };
        }""",
        world.server.token("bob"),
        world.server.token("alice"),
    )
    alice.until("the client is rejected", lambda: alice.connection == "rejected")
    assert alice.run("() => test.connection.error.code") == "invalid-token"
    alice.run("() => test.correct()")
    alice.online()


def test_integers_of_more_than_53_bits_keep_their_value(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    alice.run(
        """async () => {
            const content = test.sdk.MessageContent.custom("app:number", { value: 12345678901234567890n });
            await (await test.client.conversation("group:crew").send(content)).sent();
        }"""
    )
    assert world.server.history("bob", CREW)[0]["content"] == {"value": 12345678901234567890}
    bob = world.tab("bob")
    bob.watch(CREW)
    bob.until("bob has the message", lambda: [item["type"] for item in bob.items(CREW)] == ["message"])
    shown = "() => String(test.timeline('group:crew').value.items[0].message.content.json.value)"
    assert bob.run(shown) == "12345678901234567890"


def test_typing_is_shown_and_ends_with_the_message(world):
    crew(world)
    alice, bob = world.tab("alice"), world.tab("bob")
    for tab in (alice, bob):
        tab.online()
    bob.run("() => { test.client.conversation('group:crew').typing.subscribe((users) => (test.typing = users)) }")

    def is_typing():
        # A typing signal ends after a few seconds, and a busy machine can miss it.
        alice.run("() => test.client.conversation('group:crew').setTyping(true)")
        return bob.run("() => test.typing") == ["alice"]

    bob.until("alice types", is_typing)
    alice.send(CREW, "done")
    bob.until("alice has stopped", lambda: bob.run("() => test.typing") == [])


def test_a_group_made_offline_exists_before_its_messages(world):
    alice = world.tab("alice")
    alice.online()
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    id = alice.run(
        """async () => {
            const group = await test.client.createGroup({ name: "Plans", members: ["bob"] });
            await group.send("first");
            return group.id;
        }"""
    )
    world.proxy.open_network()
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert [message["content"]["text"] for message in world.server.history("alice", id)] == ["first"]
    alice.until("the group is listed", lambda: (alice.recent(id) or {}).get("name") == "Plans")


def test_requests_end_with_their_signal_and_without_a_connection(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    aborted = "() => test.client.conversation('group:crew').members({ signal: AbortSignal.abort() })"
    assert alice.run(f"() => test.codeOf({aborted})") == "AbortError"
    members = alice.run("() => test.client.conversation('group:crew').members()")
    assert sorted(member["user"] for member in members) == ["alice", "bob"]
    world.server.kill()
    alice.until("the client notices", lambda: alice.connection != "online")
    code = "() => test.codeOf(() => test.client.conversation('group:crew').members())"
    eventually("requests fail", lambda: alice.run(code) == "unreachable")


def test_a_channel_streams_its_messages_while_it_is_observed(world):
    world.server.call("PUT", "/v1/conversations/community:town", {"members": ["alice", "bob"]})
    channel = "community:town/default"
    world.server.send("bob", channel, "before")
    alice = world.tab("alice")
    alice.until("the channel is listed", lambda: alice.recent(channel))
    alice.watch(channel)
    alice.until("the timeline is complete", lambda: alice.texts(channel) == ["before"])
    alice.run(
        """([id]) => {
            const { subscription } = test.client.conversation(id);
            test.end = subscription.subscribe((value) => (test.subscription = value));
        }""",
        channel,
    )
    alice.until("the channel is subscribed", lambda: alice.run("() => test.subscription.isActive"))
    world.server.send("bob", channel, "live")
    alice.until("the message arrives", lambda: alice.texts(channel) == ["before", "live"])
    world.proxy.cut()
    world.server.send("bob", channel, "missed")
    alice.until("the missed message arrives", lambda: alice.texts(channel) == ["before", "live", "missed"])
    alice.run("() => test.end()")
    world.server.send("bob", channel, "later")
    alice.until("the list counts the message", lambda: alice.unread(channel) == 4)
    refused = "() => { test.client.conversation('room:x').subscription.subscribe((value) => (test.refused = value)) }"
    alice.run(refused)
    alice.until("the room is refused", lambda: alice.run("() => test.refused.error?.code") == "unknown-conversation")


def test_presence_is_shared_and_watched(world):
    assert world.server.call("PUT", "/v1/settings", {"presence": True})[0] == 200
    crew(world)
    bob = world.tab("bob")
    bob.run("() => test.client.close()")
    alice = world.tab("alice")
    alice.run(
        """() => {
            test.client.presence.subscribe((users) => (test.online = users.get("bob")?.isOnline ?? null));
            test.end = test.client.watchPresence(["bob"]);
        }"""
    )
    alice.until("bob is offline", lambda: alice.run("() => test.online") is False)
    options = "{ server, user: 'bob', token, sharesPresence: true }"
    bob.run(
        f"""async ([server, token]) => {{ test.client = await test.sdk.ChatClient.open({options}) }}""",
        world.proxy.url,
        bob.token,
    )
    alice.until("bob is online", lambda: alice.run("() => test.online") is True)


def test_a_direct_conversation_shows_how_far_the_peer_has_read(world):
    alice, bob = world.tab("alice"), world.tab("bob")
    for tab in (alice, bob):
        tab.online()
    alice.watch("direct:bob")
    alice.send("direct:bob", "read me")
    bob.until("bob has the message", lambda: bob.unread("direct:alice") == 1)
    assert alice.run("() => test.view('direct:bob').peerReadSeq") == 0
    bob.run("() => test.client.conversation('direct:alice').markRead()")
    alice.until("bob has read it", lambda: alice.run("() => test.view('direct:bob').peerReadSeq") == 1)


def test_a_direct_conversation_shows_what_the_peer_has_received(world):
    alice, bob = world.tab("alice"), world.tab("bob")
    for tab in (alice, bob):
        tab.online()
    alice.watch("direct:bob")
    # A new device does not report what was sent before it had its list, which may be later than it is online.
    alice.send("direct:bob", "earlier")
    bob.until("bob has his list", lambda: bob.unread("direct:alice") == 1)
    alice.send("direct:bob", "receive me")
    alice.until("bob has received it", lambda: alice.run("() => test.view('direct:bob').peerDeliveredSeq") == 2)
    assert alice.run("() => test.view('direct:bob').peerReadSeq") == 0
    # The next message is reported too, although the server knows the earlier ones.
    alice.send("direct:bob", "and me")
    alice.until("bob has received all", lambda: alice.run("() => test.view('direct:bob').peerDeliveredSeq") == 3)
    bob.until("bob's list counts all", lambda: bob.unread("direct:alice") == 3)


def test_signing_out_deletes_the_data_and_refuses_while_messages_are_unsent(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.send(CREW, "unsent")
    assert alice.run("() => test.codeOf(() => test.client.signOut())") == "conflict"
    alice.run("() => test.client.signOut({ discardsUnsent: true })")
    assert alice.run("async () => (await indexedDB.databases()).length") == 0
    assert alice.run("() => localStorage.length") == 0


def test_signing_out_in_one_tab_closes_the_client_of_another_and_lets_the_user_sign_in_again(world):
    crew(world)
    first = world.tab("alice")
    first.online()
    second = world.tab("alice", first.profile)
    second.online()
    second.run("() => test.client.signOut()")
    first.until("the client is closed", lambda: first.connection == "rejected")
    assert first.run("() => test.connection.error.code") == "local-storage"
    # The closed client must not keep the new one from the connection.
    second.run("([user, token]) => test.open(user, token)", "alice", second.token)
    second.send(CREW, "signed in again")
    second.until("everything is sent", lambda: second.unsent() == 0)
    assert stored_texts(world) == ["signed in again"]


def test_signing_out_keeps_a_message_that_was_queued_while_the_pushes_ended(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    world.proxy.close_network()
    code = alice.run("""async ([id]) => {
        const { client } = test;
        client.push.signOut = () => client.conversation(id).send("late");
        return await client.signOut().catch(({ code }) => code);
    }""", CREW)
    assert code == "conflict"
    world.proxy.open_network()
    alice.until("the message is sent", lambda: alice.unsent() == 0)
    assert stored_texts(world) == ["late"]


def test_a_message_of_a_tab_that_crashed_after_storing_it_is_sent(world):
    crew(world)
    first = world.tab("alice")
    first.online()
    second = world.tab("alice", first.profile)
    second.online()
    # The tab stores the message, and crashes before it tells the leading tab.
    second.run("() => { BroadcastChannel.prototype.postMessage = () => {}; }")
    second.send(CREW, "stored")
    assert stored_texts(world) == []
    second.close()
    first.until("the message is sent", lambda: first.unsent() == 0)
    assert stored_texts(world) == ["stored"]


def test_no_token_and_no_text_is_in_the_storage_of_the_marker(world):
    crew(world)
    alice = world.tab("alice")
    alice.online()
    alice.send(CREW, "a secret text")
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert alice.run("() => Object.values(localStorage)") == ["0"]
    names = ["meta", "conversations", "messages", "outbox", "settings", "drafts", "people"]
    stored = alice.run("async ([names]) => JSON.stringify(await test.stored(names))", names)
    assert "a secret text" in stored and alice.token not in stored


def test_the_connection_is_rejected_if_a_part_of_the_sdk_cannot_be_loaded(world):
    crew(world, messages=1)
    alice = world.tab("alice")
    alice.until("the conversation is stored", lambda: alice.unread(CREW) == 1)
    alice.run("() => test.client.close()")
    alice.profile.context.route(part("remote"), lambda route: route.abort())
    page = alice.profile.context.new_page()
    page.goto(alice.origin + "/healthz")
    found = page.evaluate(
        """async ([server, user, token]) => {
            const { ChatClient } = await import(`${server}/sdk/scrollback.js`);
            const client = await ChatClient.open({ server, user, token });
            const rejected = new Promise((resolve) => client.connection.subscribe(({ state, error }) => {
                if (state === "rejected") resolve(error.code);
            }));
            const listed = new Promise((resolve) => client.recents().subscribe(({ conversations }) => {
                if (conversations.length > 0) resolve(conversations[0].id);
            }));
            const found = [await rejected, await listed];
            await client.close();
            return found;
        }""",
        [alice.server, "alice", alice.token],
    )
    page.close()
    assert found == ["unreachable", CREW]
