"""Files in the outbox: an upload continues after every interruption, and the message is sent once."""

import hashlib

import pytest

CREW = "group:crew"
MiB = 1024 * 1024
SIZE = 9 * MiB
# After a lost connection the server has at least the first chunk of 4 MiB.
HOLD = 6 * MiB
# A second complete upload after HOLD bytes needs more.
RESUMED = HOLD + SIZE - 4 * MiB + MiB
CANCEL = "([id]) => test.client.conversation('group:crew').sendHandle(id).cancel()"


def hash_of(name, size):
    """The hash of what `test.sendFile` sends."""
    first = ord(name[0])
    return hashlib.sha256(bytes((i * 31 + (i >> 8) + first) & 255 for i in range(size))).hexdigest()


@pytest.fixture
def alice(world):
    world.server.group("crew", "alice", "bob")
    alice = world.tab("alice")
    alice.online()
    alice.watch(CREW)
    return alice


def send_file(tab, name="plan.bin", size=SIZE, **options):
    arguments = (CREW, name, size, options)
    return tab.run("([id, name, size, options]) => test.sendFile(id, name, size, options)", *arguments)


def item(tab, id):
    return next((item for item in tab.items(CREW) if item["id"] == id), None)


def shows_progress(tab, id):
    """Waits until a tab, perhaps another one, shows that almost half of a file is uploaded."""
    tab.until("the progress is shown", lambda: ((item(tab, id) or {}).get("progress") or 0) > 0.4)


def shows_file(tab, id, name, size):
    """Waits until a tab shows the message of a file, and checks the bytes."""
    tab.until("the message is shown", lambda: item(tab, id))
    assert tab.run("(item) => test.hashOf(...item)", CREW, id) == hash_of(name, size)


def interrupted(world, tab):
    """Sends a file and then a text, and stops the connection in the middle of the upload."""
    world.proxy.hold_after(HOLD)
    id = send_file(tab)
    tab.send(CREW, "after the file")
    tab.until("the upload is interrupted", lambda: world.proxy.is_holding)
    shows_progress(tab, id)
    return id


def check_sent(world, tab, id):
    """Checks that the file was sent once, before the text, and that the browser has no copy of it any more."""
    tab.until("everything is sent", lambda: tab.unsent() == 0)
    sent = world.server.history("alice", CREW)
    assert [message["type"] for message in sent] == ["file", "text"]
    content = sent[0]["content"]
    assert (sent[0]["id"], content["name"], content["size"]) == (id, "plan.bin", SIZE)
    bob = world.tab("bob")
    bob.watch(CREW)
    bob.until("bob has the messages", lambda: [item["type"] for item in bob.items(CREW)] == ["message", "message"])
    shows_file(bob, id, "plan.bin", SIZE)
    assert tab.run("async () => (await test.stored(['files'])).files") == []


def test_an_upload_resumes_after_a_reload(world, alice):
    id = interrupted(world, alice)
    alice.load()
    alice.watch(CREW)
    check_sent(world, alice, id)
    assert world.proxy.received < RESUMED


def test_an_upload_resumes_after_a_lost_connection(world, alice):
    id = interrupted(world, alice)
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    alice.until("the upload waits", lambda: item(alice, id)["state"] in ("stored", "waiting"))
    world.proxy.open_network()
    check_sent(world, alice, id)
    assert world.proxy.received < RESUMED


def test_another_tab_shows_an_upload_and_resumes_it_after_the_leading_tab_was_closed(world, alice):
    other = world.tab("alice", alice.profile)
    other.online()
    other.watch(CREW)
    id = interrupted(world, alice)
    shows_progress(other, id)
    alice.close()
    check_sent(world, other, id)
    assert world.proxy.received < RESUMED


def test_a_stalled_upload_continues_over_another_connection(world, alice):
    # The test decides when the time without progress is over. A busy machine makes other pauses.
    collect = """() => {
        const { setTimeout } = globalThis;
        test.late = new Set();
        globalThis.setTimeout = (action, delay) => {
            if (delay === 60_000) test.late.add(action);
            return setTimeout(action, delay);
        };
    }"""
    alice.run(collect)
    id = interrupted(world, alice)
    alice.run("() => test.late.forEach((action) => action())")
    check_sent(world, alice, id)
    assert world.proxy.received < RESUMED


def test_an_upload_resumes_after_the_server_was_killed(world, alice):
    id = interrupted(world, alice)
    world.server.kill()
    world.proxy.cut()
    world.server.start()
    check_sent(world, alice, id)


def test_a_cancelled_upload_stops_and_is_deleted_from_the_server(world, alice):
    deleted = []
    alice.page.on("response", lambda answer: answer.request.method == "DELETE" and deleted.append(answer.status))
    id = interrupted(world, alice)
    alice.run(CANCEL, id)
    alice.until("the other message is sent", lambda: alice.unsent() == 0)
    alice.until("only the other message is shown", lambda: alice.texts(CREW) == ["after the file"])
    assert [message["type"] for message in world.server.history("alice", CREW)] == ["text"]
    assert alice.run("async () => (await test.stored(['files'])).files") == []
    # The driver reports responses only during a call.
    alice.until("the upload is deleted from the server", lambda: alice.run("() => true") and deleted == [204])


def test_a_refused_file_fails_and_can_be_retried_and_discarded(world, alice):
    id = send_file(alice, size=1000, type="voice")
    alice.send(CREW, "a text")
    alice.until("the text is sent", lambda: alice.unsent() == 1)
    assert alice.queue() == [{"type": "send", "code": "invalid-media"}]
    alice.until("the failure is shown", lambda: item(alice, id)["state"] == "failed")
    handle = "test.client.conversation('group:crew').sendHandle(id)"
    again = f"([id]) => test.codeOf(async () => {{ await {handle}.retry(); await {handle}.sent() }})"
    assert alice.run(again, id) == "invalid-media"
    alice.run(CANCEL, id)
    assert alice.unsent() == 0
    assert alice.run("async () => (await test.stored(['files'])).files") == []


def test_a_picture_that_the_browser_cannot_read_is_refused_at_once(alice):
    send = "() => test.sendFile('group:crew', 'a.png', 1000, { type: 'image' })"
    assert alice.run(f"() => test.codeOf({send})") == "invalid-media"
    assert alice.unsent() == 0


def test_a_file_that_does_not_fit_into_the_storage_is_an_error_of_the_call(alice):
    alice.run(
        """() => {
            const put = IDBObjectStore.prototype.put;
            IDBObjectStore.prototype.put = function (...values) {
                if (this.name === "files") throw new DOMException("Full.", "QuotaExceededError");
                return put.apply(this, values);
            };
        }"""
    )
    code, message = alice.run(
        """async () => {
            try {
                await test.sendFile('group:crew', 'large.bin', 1000);
            } catch ({ code, message }) {
                return [code, message];
            }
        }"""
    )
    assert (code, "storage for this site is full" in message) == ("local-storage", True)
    assert alice.items(CREW) == []
    alice.send(CREW, "a text still fits")
    alice.until("the text is sent", lambda: alice.unsent() == 0)


def test_files_of_a_conversation_keep_their_order_although_they_are_uploaded_at_the_same_time(world, alice):
    world.proxy.hold_after(MiB)
    send_file(alice, "large.bin", 2 * MiB)
    alice.until("the first upload is stopped", lambda: world.proxy.is_holding)
    send_file(alice, "small.bin", 1000)
    alice.send(CREW, "the text")
    done = "async () => (await test.stored(['files'])).files.map(({ name, isDone }) => [name, isDone])"
    alice.until(
        "the second file is uploaded", lambda: sorted(alice.run(done)) == [["large.bin", False], ["small.bin", True]]
    )
    assert world.server.history("alice", CREW) == []
    world.proxy.release()
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    sent = [message["content"].get("name") for message in world.server.history("alice", CREW)]
    assert sent == ["large.bin", "small.bin", None]


def test_a_queued_file_is_shown_offline(world, alice):
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    id = send_file(alice, "offline.bin", 1000)
    shows_file(alice, id, "offline.bin", 1000)


def test_a_file_that_the_server_deleted_before_its_message_is_uploaded_again(world, alice):
    world.proxy.close_network()
    alice.until("the client notices", lambda: alice.connection != "online")
    id = send_file(alice, "old.bin", 1000)
    # The state after an upload: the server deletes a file without a message after a day.
    alice.run(
        """async ([id]) => {
            const [{ name }] = await indexedDB.databases();
            const result = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
            const database = await result(indexedDB.open(name));
            const transaction = database.transaction(["files", "outbox"], "readwrite");
            const [files, outbox] = ["files", "outbox"].map((name) => transaction.objectStore(name));
            files.put({ ...await result(files.get(id)), isDone: true, upload: "v1/uploads/gone" });
            await result(outbox.put({ ...await result(outbox.get(id)), needsUpload: false }));
            database.close();
        }""",
        id,
    )
    world.proxy.open_network()
    alice.load()
    alice.watch(CREW)
    alice.until("the message is sent", lambda: alice.unsent() == 0)
    shows_file(alice, id, "old.bin", 1000)


def test_a_store_of_the_first_version_is_upgraded(world, alice):
    alice.run(
        """async () => {
            await test.client.close();
            const [{ name }] = await indexedDB.databases();
            const result = (request) => new Promise((resolve, reject) => {
                request.onsuccess = () => resolve(request.result);
                request.onerror = () => reject(request.error);
            });
            const newest = await result(indexedDB.open(name));
            const transaction = newest.transaction(newest.objectStoreNames);
            const stores = [...newest.objectStoreNames].map((name) => {
                const { keyPath, indexNames } = transaction.objectStore(name);
                const indexes = [...indexNames].filter((index) => !["due", "pending"].includes(index)).map((index) => {
                    const { keyPath, unique } = transaction.objectStore(name).index(index);
                    return { name: index, keyPath, unique };
                });
                return { name, keyPath, indexes };
            });
            newest.close();
            const first = stores.filter(({ name }) => !["files", "threads", "kept"].includes(name));
            await result(indexedDB.deleteDatabase(name));
            const opening = indexedDB.open(name, 1);
            opening.onupgradeneeded = () => {
                for (const { name, keyPath, indexes } of first) {
                    const store = opening.result.createObjectStore(name, keyPath === null ? {} : { keyPath });
                    for (const { name, keyPath, unique } of indexes) store.createIndex(name, keyPath, { unique });
                }
            };
            const database = await result(opening);
            const drafts = database.transaction("drafts", "readwrite").objectStore("drafts");
            await result(drafts.put({ conversation: "group:crew", draft: { text: "an old draft", replyTo: null } }));
            database.close();
        }"""
    )
    alice.load()
    alice.online()
    send_file(alice, "new.bin", 1000)
    alice.until("everything is sent", lambda: alice.unsent() == 0)
    assert [message["type"] for message in world.server.history("alice", CREW)] == ["file"]
    other = world.tab("alice")
    other.until("the draft is on other devices", lambda: (other.recent(CREW) or {}).get("draft"))
    assert other.recent(CREW)["draft"]["text"] == "an old draft"
