"""The store of the SDK in the IndexedDB of a real browser."""

import pytest

from harness.browser import source_url

SETUP = """
    const modules = ["store/store", "store/log", "store/records", "store/history", "model/message",
        "model/message-content", "model/seq-range-set"];
    const [{ Store }, { apply }, records, history, { Message }, { MessageContent }, { SeqRangeSet }] =
        await Promise.all(modules.map((name) => import(`${sources}/sdk/${name}.js`)));
    const { store } = await Store.open({ user: "alice", server: "test:" + crypto.randomUUID() }, () => {});
    const id = "group:crew";
    const head = (head, rev = 0) => ({ epoch: "1", view: 0, head, firstSeq: 1, countedIndex: head, rev });
    const message = (seq, text, others = {}) => new Message({
        conversation: id, seq, countedIndex: seq,
        id: `00000000-0000-4000-8000-${String(seq).padStart(12, "0")}`,
        timetoken: String(seq), epoch: "1", sender: "bob", type: "text",
        content: MessageContent.text(text), ...others });
    const page = (messages, state) => ({ type: "page", conversation: id, page: {
        messages, coverage: { lower: messages[0].seq, upper: messages.at(-1).seq, deletedRanges: new SeqRangeSet() },
        isFiltered: false, older: null, newer: null, state, actions: [] } });
    const live = (message) => ({ type: "live", event: { type: "message", conversation: id, message } });
    const write = (...inputs) => store.write((transaction) => apply(transaction, "alice", inputs));
    const texts = () => store.read(async (transaction) =>
        (await history.messagesIn(transaction, id, [1, 1000])).map(({ text }) => text));
    const load = () => store.read((transaction) => records.OpenConversation.load(transaction, id));
"""


@pytest.fixture
def run(world):
    tab = world.tab("alice")
    return lambda script: tab.run("async ([sources]) => {" + SETUP + script + "}", source_url())


def test_a_row_with_an_older_revision_never_replaces_a_newer_one(run):
    assert run("""
        await write(live(message(1, "new", { rev: 2 })), live(message(2, "x")));
        await write(page([message(1, "old"), message(2, "x")], head(2, 2)));
        return texts();
    """) == ["new", "x"]


def test_a_gap_with_own_messages_corrects_the_estimated_count(run):
    assert run("""
        await write(live(message(1, "a")));
        await write(live(message(10, "b")));
        const before = (await load()).read.unread;
        const own = [2, 3, 4].map((seq) => message(seq, "c", { sender: "alice" }));
        await write(page(own, head(10)));
        const { log, read } = await load();
        return [before, read.unread, log.gaps.ranges];
    """) == [10, 7, [[5, 9]]]


def test_a_failed_transaction_leaves_nothing_behind(run):
    assert run("""
        await write(live(message(1, "a")));
        let code = null;
        await store.write(async (transaction) => {
            await apply(transaction, "alice", [live(message(2, "b"))]);
            throw new Error("failed");
        }).catch((error) => (code = error.code));
        const { log } = await load();
        return [code, log.head, await texts()];
    """) == ["local-storage", 1, ["a"]]


def test_rows_of_another_epoch_disappear_with_it(run):
    assert run("""
        await write(live(message(1, "old")), live(message(2, "old")));
        const other = { ...head(1), epoch: "2" };
        const conversation = { conversation: id, name: "Crew", avatar: null, state: other, unread: 1, mentions: 0,
            readSeq: 0, peerReadSeq: 0, peerDeliveredSeq: 0, hasDeliveryReceipts: false,
            lastMessage: message(1, "new", { epoch: "2" }), isMuted: false,
            notifications: null, isPinned: false, isMarkedUnread: false, removedSeq: 0, newDeviceFloor: 0,
            recentTime: "1", isMember: true, isFrozen: false, mute: null, lastCommit: 5, userRev: 1, hidden: [] };
        await write({ type: "head", head: conversation });
        const { log, read, name, entry } = await load();
        return [await texts(), log.epoch, read.unread, name, entry.isListed];
    """) == [["new"], "2", 1, "Crew", True]


def test_an_acknowledged_message_is_stored_even_if_no_other_answer_had_its_epoch_before(run):
    assert run("""
        await write(live(message(1, "old")), live(message(2, "old")));
        const own = message(2, "own", { epoch: "2", sender: "alice" });
        const [outcome] = await write({ type: "sent", message: own });
        const { log } = await load();
        return [await texts(), log.epoch, log.gaps.ranges, outcome.behind !== null, outcome.needsHead];
    """) == [["own"], "2", [[1, 1]], True, True]


def test_hidden_messages_whose_numbers_are_unknown_are_asked_for_again(run):
    assert run("""
        await write(live(message(1, "a")), live(message(2, "b")));
        const misses = async (epoch, ranges) => {
            const event = { type: "hidden", conversation: id, epoch, ranges };
            return (await write({ type: "live", event }))[0].missesHidden;
        };
        return [await misses("1", [[1, 1]]), await misses("1", [[3, 3]]), await misses("2", [[2, 2]]), await texts()];
    """) == [False, True, True, ["b"]]


def test_users_and_servers_have_stores_of_their_own(run):
    assert run("""
        const names = [["alice", "https://a/"], ["bob", "https://a/"], ["alice", "https://b/"]]
            .map(([user, server]) => Store.nameOf({ user, server }));
        return new Set(names).size;
    """) == 3


def test_the_outbox_keeps_its_order_and_its_state(run):
    assert run("""
        const outbox = await import(`${sources}/sdk/store/outbox.js`);
        const { ScrollbackError } = await import(`${sources}/sdk/model/errors.js`);
        const send = (id, text) => ({ id, conversation: "group:crew", now: 1000,
            request: { type: "send", submission: { id, content: MessageContent.text(text), attributes: {} } } });
        await store.write(async (transaction) => {
            for (const id of ["c", "a", "b"]) await outbox.insertIntoOutbox(transaction, send(id, id));
            const [first, second] = await outbox.outboxItems(transaction, 0);
            const error = new ScrollbackError("forbidden", "No.", { reason: "why" });
            await outbox.saveOutboxItem(transaction, { ...first, state: { type: "failed", error }, attempts: 2 });
            await outbox.saveOutboxItem(transaction, { ...second, state: { type: "sending" }, wasTransmitted: true });
        });
        const items = await store.read((transaction) => outbox.outboxItems(transaction, 0));
        const replaced = await store.write(async (transaction) => [
            await outbox.replaceUnsent(transaction, "a", (submission) => submission),
            await outbox.replaceUnsent(transaction, "b", (submission) => submission)]);
        const { code, reason } = items[0].state.error;
        return [items.map(({ id }) => id), code, reason, items[0].attempts, items[1].wasTransmitted, replaced];
    """) == [["c", "a", "b"], "forbidden", "why", 2, True, [False, True]]


def test_a_value_that_cannot_be_stored_fails_the_transaction(run):
    assert run("""
        const row = (id) => ({ id, ordinal: 1, conversation: "group:crew", state: { type: "queued" } });
        const code = await store.write((transaction) => {
            transaction.put("outbox", row("a"));
            transaction.put("outbox", row("b"));
        }).catch((error) => error.code);
        return [code, await store.read((transaction) => transaction.count("outbox"))];
    """) == ["local-storage", 0]


def test_the_newest_rows_of_a_range_are_read_at_once(run):
    assert run("""
        await write(...[1, 2, 3, 4, 5].map((seq) => live(message(seq, "x"))));
        return store.read((transaction) => Promise.all([1, 2, 9].map(async (limit) => {
            const rows = await transaction.newest("messages", null, records.messageKeys(id, 2, 4), limit);
            return rows.map(({ seq }) => seq);
        })));
    """) == [[4], [4, 3], [4, 3, 2]]


def test_a_change_of_messages_changes_the_version_and_the_copy_of_the_last_one(run):
    assert run("""
        const states = [];
        const note = async () => states.push(await load());
        await write(live(message(1, "a")));
        await note();
        await write(page([message(1, "b", { rev: 1 })], head(1, 1)));
        await note();
        await store.write(async (transaction) => {
            (await records.OpenConversation.load(transaction, id)).save(transaction);
        });
        await note();
        const [first, second, third] = states;
        return [
            states.map(({ last }) => last.content.json.text), first.version === second.version,
            second.version === third.version,
        ];
    """) == [["a", "b", "b"], False, True]
