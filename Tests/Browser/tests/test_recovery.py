"""What the SDK does after the server or the browser lost something."""

import shutil

CREW = "group:crew"


def test_messages_that_a_restored_server_lost_are_sent_again_once(world):
    world.server.group("crew", "alice", "bob")
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    alice.send(CREW, "kept")
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    data = world.server.folder / "data"
    world.server.stop()
    alice.until("the client notices", lambda: alice.connection != "online")
    shutil.copytree(data, world.server.folder / "copy")
    world.server.start()
    alice.online()
    alice.send(CREW, "lost")
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    world.server.send("bob", CREW, "of bob")
    alice.until("both messages arrive", lambda: alice.texts(CREW) == ["kept", "lost", "of bob"])
    world.server.kill()
    shutil.rmtree(data)
    shutil.copytree(world.server.folder / "copy", data)
    world.server.start()

    def stored():
        return [message["content"]["text"] for message in world.server.history("bob", CREW)]

    alice.until("the message is sent again", lambda: stored() == ["kept", "lost"])
    alice.until("the timeline equals the log", lambda: alice.texts(CREW) == ["kept", "lost"])
    alice.until("nothing is unsent", lambda: alice.unsent() == 0)
    assert alice.run("() => test.violations()") == []


def test_a_conversation_that_was_deleted_and_made_again_begins_anew(world):
    world.server.group("crew", "alice", "bob")
    world.server.send("bob", CREW, "old")
    alice = world.tab("alice")
    alice.watch(CREW)
    alice.until("the message is shown", lambda: alice.texts(CREW) == ["old"])
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    assert world.server.call("DELETE", f"/v1/conversations/{CREW}")[0] in (200, 204)
    world.server.group("crew", "alice", "bob")
    world.server.send("bob", CREW, "new")
    world.proxy.open_network()
    alice.until("only the new message is shown", lambda: alice.texts(CREW) == ["new"])
    assert alice.run("() => test.violations()") == []


def test_a_conversation_that_was_deleted_while_the_browser_was_offline_leaves_the_list(world):
    for name in ("crew", "others"):
        world.server.group(name, "alice", "bob")
        world.server.send("bob", f"group:{name}", "old")
    alice = world.tab("alice")
    alice.watch(CREW)
    alice.until("both are listed", lambda: alice.recent(CREW) and alice.recent("group:others"))
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    assert world.server.call("DELETE", f"/v1/conversations/{CREW}")[0] in (200, 204)
    world.proxy.open_network()
    alice.until("the conversation leaves the list", lambda: alice.recent(CREW) is None)
    assert alice.recent("group:others")["unread"] == 1
    assert alice.run("() => test.violations()") == []


def test_a_removed_member_keeps_the_history_and_gets_nothing_more(world):
    world.server.group("crew", "alice", "bob")
    world.server.send("bob", CREW, "before")
    alice = world.tab("alice")
    alice.watch(CREW)
    alice.until("the message is shown", lambda: alice.texts(CREW) == ["before"])
    assert world.server.call("DELETE", f"/v1/conversations/{CREW}/members/alice")[0] in (200, 204)
    world.server.send("bob", CREW, "after")
    alice.until("alice is no member", lambda: alice.recent(CREW)["isMember"] is False)
    code = "async () => { await (await test.client.conversation('group:crew').send('hi')).sent() }"
    assert alice.run(f"() => test.codeOf({code})") == "not-member"
    assert [item["text"] for item in alice.items(CREW) if item["type"] == "message"] == ["before"]


def test_a_thousand_missed_messages_leave_a_gap_that_fills_while_it_is_shown(world):
    world.server.group("crew", "alice", "bob")
    world.server.send("bob", CREW, "first")
    alice = world.tab("alice")
    alice.watch(CREW, window=50)
    alice.until("the message is shown", lambda: alice.texts(CREW) == ["first"])
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    token = world.server.token("bob")
    for number in range(1000):
        world.server.send("bob", CREW, f"missed {number}", token)
    world.proxy.open_network()
    alice.until("the newest message is shown", lambda: alice.texts(CREW)[-1] == "missed 999")
    alice.until("all are unread", lambda: alice.unread(CREW) == 1001)
    assert alice.run("() => test.violations()") == []
    alice.run("async () => { await test.timeline('group:crew').jump('earliest') }")
    alice.until("the first messages are shown", lambda: alice.texts(CREW)[:2] == ["first", "missed 0"])
    seqs = [item["seq"] for item in alice.items(CREW)]
    assert seqs == list(range(1, len(seqs) + 1))
