"""Threads: their list, their unread replies, and following them."""

import pytest

CREW = "group:crew"


@pytest.fixture
def root(world):
    """A message of alice, to which bob replied twice."""
    world.server.group("crew", "alice", "bob", "mei")
    root = world.server.send("alice", CREW, "Where to?")["id"]
    for text in ("North", "East"):
        world.server.send("bob", CREW, text, replyTo=root)
    return root


def watching(world, user):
    tab = world.tab(user)
    tab.online()
    tab.run("([id]) => test.watchThreads(id)", CREW)
    return tab


def threads(tab):
    return tab.run("() => test.shownThreads()")


def shows(tab, **members):
    def is_shown():
        shown = threads(tab)
        return len(shown) == 1 and shown[0] == {**shown[0], **members}

    tab.until(f"the thread has {members}", is_shown)


def change(tab, name, id):
    conversation = f"test.client.conversation('{CREW}')"
    return tab.run(f"([id]) => test.codeOf(async () => {{ await (await {conversation}.{name}(id)).sent() }})", id)


def test_the_list_of_threads_has_the_unread_replies_of_the_user(world, root):
    alice, mei = watching(world, "alice"), watching(world, "mei")
    shows(alice, text="Where to?", replies=2, last="East", unread=2, mentions=0, isFollowed=True)
    shows(mei, unread=2, isFollowed=False)
    assert alice.run("() => test.threads.totalUnread") == 2
    assert mei.run("() => test.threads.totalUnread") == 0
    world.server.send("bob", CREW, "South, @mei", replyTo=root, mentions={"users": ["mei"]})
    shows(alice, replies=3, last="South, @mei", unread=3)
    shows(mei, unread=3, mentions=1, isFollowed=True)
    other = world.server.send("mei", CREW, "Tea?")["id"]
    world.server.send("alice", CREW, "Yes", replyTo=other)
    alice.until("the newest thread is first", lambda: [it["text"] for it in threads(alice)] == ["Tea?", "Where to?"])


def test_reading_a_thread_is_shown_at_once_and_on_all_devices(world, root):
    alice, other = watching(world, "alice"), watching(world, "alice")
    for tab in (alice, other):
        shows(tab, unread=2)
    alice.until("the conversation is listed", lambda: alice.unread(CREW) == 2)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.run("([id]) => test.client.conversation('group:crew').markThreadRead(id)", root)
    shows(alice, unread=0)
    world.proxy.open_network()
    shows(other, unread=0)
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    shows(alice, unread=0)
    assert alice.unread(CREW) == 2
    world.server.send("bob", CREW, "West", replyTo=root)
    shows(alice, unread=1)
    alice.run("() => test.client.conversation('group:crew').markRead()")
    for tab in (alice, other):
        shows(tab, unread=0)


def test_following_works_offline_and_the_list_stays_with_the_error(world, root):
    alice = watching(world, "alice")
    shows(alice, isFollowed=True)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.run("([id]) => test.client.conversation('group:crew').unfollowThread(id)", root)
    shows(alice, isFollowed=False)
    alice.run("() => { test.client.conversation('group:crew').markUnread() }")
    again = "() => test.client.conversation('group:crew').threads().subscribe((view) => (test.again = view))"
    alice.run(f"() => {{ ({again})() }}")
    alice.until("the error is shown", lambda: alice.run("() => test.again.error?.code") == "unreachable")
    assert alice.run("() => test.again.threads.length") == 1
    world.proxy.open_network()
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    path = f"/v1/conversations/{CREW}/threads"
    listed = world.server.call("GET", path, token=world.server.token("alice"))[1]["threads"]
    assert [thread["state"]["followed"] for thread in listed] == [False]
    assert change(alice, "followThread", root) is None
    shows(alice, isFollowed=True)


def test_a_message_without_replies_has_no_thread_to_follow(world, root):
    alice = watching(world, "alice")
    lonely = world.server.send("bob", CREW, "Nobody answers")["id"]
    assert change(alice, "followThread", lonely) == "unknown-message"


def test_a_thread_whose_first_message_was_deleted_leaves_the_list(world, root):
    alice = watching(world, "alice")
    shows(alice, replies=2)
    alice.run("([id]) => test.client.conversation('group:crew').delete([id], { for: 'me' })", root)
    alice.until("the list is empty", lambda: threads(alice) == [])


def test_a_thread_stays_hidden_when_the_conversation_begins_above_it(world, root):
    other = world.server.send("mei", CREW, "Tea?")["id"]
    world.server.send("alice", CREW, "Yes", replyTo=other)
    alice = world.tab("alice")
    alice.until("the conversation is listed", lambda: alice.recent(CREW))
    # The list waits a second between two requests. It is requested only once here.
    alice.run("() => { const set = setTimeout; setTimeout = (body, delay) => delay === 1000 ? 0 : set(body, delay); }")
    alice.run("([id]) => test.watchThreads(id)", CREW)
    alice.until("both threads are shown", lambda: [it["text"] for it in threads(alice)] == ["Tea?", "Where to?"])
    alice.run("([id]) => test.client.conversation('group:crew').delete([id], { for: 'me' })", root)
    alice.until("the thread is hidden", lambda: [it["text"] for it in threads(alice)] == ["Tea?"])
    # The page of older messages begins after the hidden one.
    alice.watch(CREW)
    alice.until("all messages are shown", lambda: alice.texts(CREW) == ["North", "East", "Tea?", "Yes"])
    alice.run("([id]) => test.client.conversation('group:crew').unfollowThread(id)", other)
    alice.until("the list was read again", lambda: not threads(alice)[0]["isFollowed"])
    assert [it["text"] for it in threads(alice)] == ["Tea?"]


def test_a_long_list_is_loaded_in_pages(world, root):
    for number in range(54):
        id = world.server.send("bob", CREW, f"topic {number}")["id"]
        world.server.send("bob", CREW, "first", replyTo=id)
    alice = watching(world, "alice")
    alice.until("the first page is shown", lambda: len(threads(alice)) == 50)
    assert alice.run("() => test.threads.hasMore")
    alice.run("() => test.moreThreads()")
    alice.until("all threads are shown", lambda: len(threads(alice)) == 55)
    alice.until("the list is complete", lambda: not alice.run("() => test.threads.hasMore"))
