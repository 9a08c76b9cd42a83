/*
 * Several nodes on one PostgreSQL database (Documentation/decisions/0056-nodes-share-one-order-of-commits.md).
 *
 * SPIN searches every interleaving of two nodes, two devices and two conversations. scripts/check-model.sh runs it. An
 * action has the name of the function that it models, and names its file. One action (d_step) is one step: between two
 * steps, the other processes can run, a node can crash, and a connection can be lost.
 *
 * The assertions check that
 *   - commit numbers are dense (commit), and a message is stored once (commit),
 *   - a node delivers all commits in order, without gaps, each once (checkOrder),
 *   - a transaction runs after all earlier commits were delivered on its node (append),
 *   - an acknowledged message is stored (answered),
 *   - a device receives the messages of a conversation in order, without gaps (checkPosition).
 * The formula `complete` checks that every history ends well, if each process that can run always runs at some later
 * time (weak fairness).
 *
 * Not modeled: permissions and subscriptions that end, edits, several jobs that fail together, limits of queues, the
 * first incarnation, the deletion of notes by age, and databases that lose commits.
 */

#ifndef MESSAGES
#define MESSAGES 3                      /* The messages that the devices send: 1 to 4. */
#endif
#ifndef FAULTS
#define FAULTS 1                        /* The crashes and lost connections of one history. */
#endif
#define NODES 2
#define DEVICES 2
#define CONVERSATIONS 2
#define PAGE 2                          /* The new notes of a page. */
#define MAXIMUM_COMMIT 10

/* Sets of small numbers are bit masks. */
#define bit(i) (1 << (i))
#define has(set, i) (((set) >> (i)) & 1)
#define all (bit(MESSAGES) - 1)

/* A message has one sender and one conversation. Its number is its message ID, which a retry keeps. */
#define sender(m) ((m) % DEVICES)
#define conversation(m) (((m) + 1) / 2 % CONVERSATIONS)

byte faults = FAULTS;                   /* The faults that can still occur. */

/* Loop variables. They have no value between two actions. */
hidden byte c, d, m, other, note, last;

/* ---- The database ---- */

/* The row storeState: StoreState.swift. */
byte lastCommit;

/* The table commitNote. The number of the node plus one represents the random ID. */
typedef CommitNote { byte id; byte body }
CommitNote commitNote[MAXIMUM_COMMIT + 1];

byte seq[MESSAGES];                     /* The sequence number of each stored message; 0 if it is not stored. */
byte head[CONVERSATIONS];               /* The newest sequence number of each conversation. */

/*
 * The transaction of each node, whose session has the row lock unless it is `ended`. If its node crashes or loses the
 * connection, it stays open until PostgreSQL ends it. `number` and `body` are also the Outcome in CommitQueue.swift.
 */
mtype = { ended, begun, commitSent };
typedef Transaction { mtype state = ended; byte number; byte body }
Transaction transaction[NODES];

#define rowIsFree(n) (transaction[0].state == ended && transaction[1].state == ended)

/* ---- The nodes ---- */

/* What the writer of a node does next: CommitQueue.swift. */
mtype = { idle, begins, hasLock, isBehind, commits, isCommitted, isUnconfirmed, answers };

typedef Node {
    mtype phase = idle;
    byte waiting;                       /* The sends that wait: WriterQueue.swift. */
    byte batch;                         /* The sends of the transaction. */
    byte known;                         /* `known` in Node.writeOnce. */
    byte last;                          /* CommitOrder.last. */
    short early;                        /* CommitOrder.early. */
    byte page;                          /* The last note of a page that Node.catchUp has read; 0 if it has none. */
    byte delivered                      /* The last commit whose events were published; only assertions read it. */
}
Node node[NODES];

/* The notes that were sent over the bus. Each can arrive at any later time, several times, or never. */
short announced;

/* ---- The devices ---- */

byte inFlight;                          /* The sends that wait for an answer: Outbox.swift. */
byte acknowledged;                      /* The sends that were answered. */

mtype = { offline, storing, resumed };

typedef Device {
    byte node;
    mtype sync = resumed;               /* ResumeState.swift. */
    byte rows;                          /* The stored messages: LogState.swift. */
    byte changed;                       /* The conversations with a lastCommit above the cursor of the device. */
    byte changedSince;                  /* The same for the cursor of the window that the device has not stored. */
    byte window;                        /* The messages of that window, and of `sync`. */
    byte held                           /* The events that arrived before the device is resumed. */
}
Device device[DEVICES];

#define isConnected(d, n) (device[d].sync != offline && device[d].node == (n))
#define isDone (acknowledged == all && device[0].rows == all && device[1].rows == all \
    && node[0].last == lastCommit && node[1].last == lastCommit)

/* At the end of every history, all sends are acknowledged, and all nodes and devices have everything. */
ltl complete { <>[] isDone }

/* ======== Devices ======== */

/*
 * No stored message of the conversation with a lower sequence number is missing, except messages that the device sends:
 * their events are not sent to their origin, and their answers can arrive after later events.
 */
inline checkPosition(d, m) {
    for (other : 0 .. MESSAGES - 1) {
        assert(conversation(other) != conversation(m) || seq[other] == 0 || seq[other] >= seq[m]
            || has(device[d].rows, other) || (sender(other) == d && has(inFlight, other)))
    }
}

/* ResumeState.live in ResumeState+Events.swift, and LogState.apply(message:) in LogState+Events.swift. */
inline live(d, m) {
    if
    :: device[d].sync == resumed ->
        device[d].rows = device[d].rows | bit(m);
        checkPosition(d, m)
    :: else -> device[d].held = device[d].held | bit(m)
    fi
}

/* Outbox.answered in Outbox+Answers.swift, for a success. */
inline answered(m) {
    assert(seq[m] != 0);                /* An acknowledged message is stored. */
    inFlight = inFlight & ~bit(m);
    acknowledged = acknowledged | bit(m);
    device[sender(m)].rows = device[sender(m)].rows | bit(m);
    if
    :: device[sender(m)].sync == resumed -> checkPosition(sender(m), m)
    :: else
    fi
}

/* Outbox.disconnected in Outbox.swift, and ResumeState.disconnected in ResumeState.swift. */
inline disconnected(d) {
    for (m : 0 .. MESSAGES - 1) {
        if
        :: sender(m) == d -> inFlight = inFlight & ~bit(m)
        :: else
        fi
    }
    device[d].sync = offline;
    device[d].node = 0;
    device[d].changedSince = 0;
    device[d].window = 0;
    device[d].held = 0
}

/* LogState.isBehind in LogState.swift: a message is missing below one that the device has. */
inline addIfBehind(d, m) {
    for (other : 0 .. MESSAGES - 1) {
        if
        :: conversation(other) == conversation(m) && has(device[d].rows, other) && seq[m] < seq[other] ->
            device[d].window = device[d].window | bit(m)
        :: else
        fi
    }
}

/*
 * Engine.syncWindow and Engine.syncLogs in Engine+Sync.swift: the messages of the conversations that changed after the
 * cursor, and of those that the device knows to be behind.
 */
inline syncWindow(d) {
    for (m : 0 .. MESSAGES - 1) {
        if
        :: seq[m] != 0 && has(device[d].changed, conversation(m)) ->
            device[d].window = device[d].window | bit(m)
        :: seq[m] != 0 && !has(device[d].changed, conversation(m)) && !has(device[d].rows, m) -> addIfBehind(d, m)
        :: else
        fi
    }
    device[d].changedSince = 0
}

/* ResumeState.windowStored in ResumeState+Windows.swift, and releaseResumed in ResumeState+Events.swift. */
inline windowStored(d) {
    device[d].rows = device[d].rows | device[d].window | device[d].held;
    device[d].changed = device[d].changedSince;
    device[d].sync = resumed;
    for (m : 0 .. MESSAGES - 1) {
        if
        :: has(device[d].held, m) -> checkPosition(d, m)
        :: else
        fi
    }
    device[d].changedSince = 0;
    device[d].window = 0;
    device[d].held = 0
}

/* Session.open in Session+Hello.swift: the session subscribes before the device pulls a window. */
inline open(d, n) {
    device[d].node = n;
    device[d].sync = storing;
    syncWindow(d)
}

/* Outbox.pumpQueue in Outbox+Steps.swift, Engine.send in Engine+Send.swift and CommitQueue.submit in CommitQueue.swift. */
inline send(m) {
    inFlight = inFlight | bit(m);
    node[device[sender(m)].node].waiting = node[device[sender(m)].node].waiting | bit(m)
}

#define maySend(m) (sender(m) == self && device[self].sync != offline && !has(acknowledged | inFlight, m))

proctype Client(byte self) {
end:
    do
    :: d_step { device[self].sync == offline -> open(self, 0) }
    :: d_step { device[self].sync == offline -> open(self, 1) }
    :: d_step { device[self].sync == storing -> windowStored(self) }
    :: d_step { MESSAGES > 0 && maySend(0) -> send(0) }
    :: d_step { MESSAGES > 1 && maySend(1) -> send(1) }
#if MESSAGES > 2
    :: d_step { maySend(2) -> send(2) }
#endif
#if MESSAGES > 3
    :: d_step { maySend(3) -> send(3) }
#endif
    od
}

/* ======== Nodes ======== */

inline endTransaction(n) {
    transaction[n].state = ended;
    transaction[n].number = 0;
    transaction[n].body = 0
}

/* Hub.publish in Hub.swift. The origin of a message gets the answer instead of an event. */
inline publish(n, messages, hasOrigin) {
    for (d : 0 .. DEVICES - 1) {
        for (m : 0 .. MESSAGES - 1) {
            if
            :: has(messages, m) && isConnected(d, n) && !(hasOrigin && sender(m) == d && has(inFlight, m)) -> live(d, m)
            :: else
            fi
        }
    }
}

#define mayAskForNote(n) (node[n].phase == isCommitted || node[n].phase == isUnconfirmed)

/*
 * PostgresStore.dropNotes in PostgresStore+Notes.swift, for notes that no node can read any more. Histories with
 * different pasts then reach the same states.
 */
inline dropNotes() {
    if
    :: !mayAskForNote(0) && !mayAskForNote(1) ->
        for (c : 1 .. MAXIMUM_COMMIT) {
            if
            :: c < node[0].delivered && c < node[1].delivered ->
                commitNote[c].id = NODES + 1;
                commitNote[c].body = 0;
                announced = announced & ~bit(c)
            :: else
            fi
        }
    :: else
    fi
}

/* Checks that the node delivers commits in order, without gaps, each once. */
inline checkOrder(n, number) {
    assert(number == node[n].delivered + 1);
    node[n].delivered = number;
    if
    :: node[n].page <= number -> node[n].page = 0
    :: else
    fi;
    dropNotes()
}

/* Node.deliver in Node.swift. */
inline deliver(n, number) {
    checkOrder(n, number);
    publish(n, commitNote[number].body, false)
}

/* CommitOrder.takeNext in CommitOrder.swift. The caller delivers the notes that Swift returns. */
inline takeNext(n) {
    do
    :: has(node[n].early, node[n].last + 1) ->
        node[n].last++;
        node[n].early = node[n].early & ~bit(node[n].last);
        deliver(n, node[n].last)
    :: else -> break
    od
}

/* CommitOrder.receive(_ note:) in CommitOrder.swift. */
inline receive(n, number) {
    if
    :: number > node[n].last ->
        node[n].early = node[n].early | bit(number);
        takeNext(n)
    :: else
    fi
}

/*
 * CommitOrder.receive(_ page:from:) in CommitOrder.swift, for the notes up to `last`. The node ends if one is missing,
 * which must not happen: here, the database loses no commit, and notes are deleted only after all nodes have them.
 */
inline receivePage(n) {
    for (note : node[n].last + 1 .. last) {
        assert(commitNote[note].id != 0);
        receive(n, note)
    }
}

#define endOfPage(first, newest) ((first) + PAGE < (newest) -> (first) + PAGE : (newest))

/* Node.catchUp in Node.swift reads a page... */
inline catchUp(n) {
    node[n].page = endOfPage(node[n].last, lastCommit)
}

/* ...and Node.take in Node.swift takes it. Other threads may have delivered some of its notes since. */
inline take(n) {
    last = node[n].page;
    receivePage(n);
    node[n].page = 0
}

/* NodeService.follow in NodeService.swift. A poll of a node that misses nothing changes nothing, so it is left out. */
proctype NodeService(byte self) {
end:
    do
    :: d_step { node[self].page == 0 && node[self].last < lastCommit -> catchUp(self) }
    :: d_step { node[self].page != 0 -> take(self) }
    od
}

/* CommitQueue.takeBatch in CommitQueue.swift, and the beginning of Node.writeOnce in Node.swift. */
inline takeBatch(n) {
    node[n].batch = node[n].waiting;
    node[n].waiting = 0;
    node[n].known = node[n].last;
    node[n].phase = begins
}

/* StoreState.beginTransaction in StoreState.swift: takes the row lock. PostgreSQL then reads the notes. */
inline beginTransaction(n) {
    transaction[n].state = begun;
    transaction[n].number = lastCommit + 1;
    assert(transaction[n].number <= MAXIMUM_COMMIT);
    node[n].phase = hasLock
}

/* The end of CommitQueue.finish in CommitQueue.swift. An answer reaches the sender if it waits for one on this node. */
inline answer(n) {
    for (m : 0 .. MESSAGES - 1) {
        if
        :: has(node[n].batch & inFlight, m) && isConnected(sender(m), n) -> answered(m)
        :: else
        fi
    }
}

/* CommitQueue.run in CommitQueue.swift, and Transaction.append in Transaction+Append.swift. */
inline append(n) {
    /* All earlier commits are delivered. */
    assert(node[n].last == transaction[n].number - 1);
    for (m : 0 .. MESSAGES - 1) {
        if
        :: has(node[n].batch, m) && seq[m] == 0 -> transaction[n].body = transaction[n].body | bit(m)
        :: else
        fi
    }
    transaction[n].state = commitSent;
    node[n].phase = commits
}

/*
 * Node.writeOnce in Node.swift, from the row lock to the COMMIT of StoreState.commit in StoreState.swift. A crash in
 * between has the effects of a crash after the COMMIT that PostgreSQL does not carry out.
 */
inline writeOnce(n) {
    last = endOfPage(node[n].known, transaction[n].number - 1);
    receivePage(n);
    node[n].known = 0;
    if
    :: last < transaction[n].number - 1 ->
        endTransaction(n);
        node[n].phase = isBehind
    :: else -> append(n)
    fi
}

/* Node.write in Node.swift, after writeOnce returned false. One step reads and takes all pages. */
inline catchUpAll(n) {
    last = lastCommit;
    receivePage(n);
    node[n].known = node[n].last;
    node[n].phase = begins
}

/* Node.committed in Node.swift, and CommitOrder.committed in CommitOrder.swift. */
inline committed(n) {
    if
    :: transaction[n].number > node[n].last ->
        node[n].last = transaction[n].number;
        node[n].early = node[n].early & ~bit(node[n].last);
        checkOrder(n, node[n].last);
        publish(n, transaction[n].body, true);
        takeNext(n)
    :: else
    fi;
    announced = announced | bit(transaction[n].number);
    endTransaction(n);
    node[n].phase = answers
}

/* CommitQueue.finish in CommitQueue.swift, after the events were published. */
inline finish(n) {
    answer(n);
    node[n].batch = 0;
    node[n].phase = idle
}

/* CommitQueue.fail in CommitQueue.swift: the senders try again. */
inline fail(n) {
    for (m : 0 .. MESSAGES - 1) {
        if
        :: has(node[n].batch, m) && isConnected(sender(m), n) -> inFlight = inFlight & ~bit(m)
        :: else
        fi
    }
    node[n].batch = 0;
    node[n].known = 0;
    node[n].phase = idle
}

/* PostgresStore.wasCommitted in PostgresStore.swift, which waits for the row lock. */
#define wasCommitted(n) (lastCommit >= transaction[n].number && commitNote[transaction[n].number].id == (n) + 1)

/* CommitQueue.settleUnconfirmedCommit in CommitQueue.swift. */
inline settleUnconfirmedCommit(n) {
    if
    :: wasCommitted(n) -> node[n].phase = isCommitted
    :: else ->
        endTransaction(n);
        fail(n)
    fi
}

/* CommitQueue.execute in CommitQueue.swift. */
proctype CommitQueue(byte self) {
end:
    do
    :: d_step { node[self].phase == idle && node[self].waiting != 0 -> takeBatch(self) }
    :: d_step { node[self].phase == begins && rowIsFree(self) -> beginTransaction(self) }
    :: d_step { node[self].phase == hasLock -> writeOnce(self) }
    :: d_step { node[self].phase == isBehind -> catchUpAll(self) }
    :: d_step { node[self].phase == isCommitted -> committed(self) }
    :: d_step { node[self].phase == answers -> finish(self) }
    :: d_step { node[self].phase == isUnconfirmed && rowIsFree(self) -> settleUnconfirmedCommit(self) }
    od
}

/* ======== The database and the bus ======== */

/* Whether the node waits for an answer of its transaction. Otherwise, the session has lost its client. */
#define hasClient(n) (node[n].phase == hasLock || node[n].phase == commits)

/* PostgreSQL carries out a COMMIT: the row storeState, the note and the rows of the transaction. */
inline commit(n) {
    /* Commit numbers are dense. */
    assert(transaction[n].number == lastCommit + 1);
    lastCommit = transaction[n].number;
    commitNote[lastCommit].id = n + 1;
    commitNote[lastCommit].body = transaction[n].body;
    for (m : 0 .. MESSAGES - 1) {
        if
        :: has(transaction[n].body, m) ->
            assert(seq[m] == 0);        /* A message is stored once. */
            head[conversation(m)]++;
            seq[m] = head[conversation(m)];
            for (d : 0 .. DEVICES - 1) {
                device[d].changed = device[d].changed | bit(conversation(m));
                device[d].changedSince = device[d].changedSince | bit(conversation(m))
            }
        :: else
        fi
    }
    transaction[n].state = ended;
    if
    :: hasClient(n) -> node[n].phase = isCommitted
    :: node[n].phase == isUnconfirmed
    :: else -> endTransaction(n)
    fi
}

/* PostgreSQL ends a transaction whose client is lost. */
inline rollBack(n) {
    if
    :: node[n].phase == isUnconfirmed -> transaction[n].state = ended
    :: else -> endTransaction(n)
    fi
}

proctype PostgreSQL(byte self) {
end:
    do
    :: d_step { transaction[self].state == commitSent -> commit(self) }
    :: d_step { transaction[self].state != ended && !hasClient(self) -> rollBack(self) }
    od
}

/* Node.receive in Node.swift. A message is never removed, so it can also be repeated. */
#define arrival(n, number) \
    :: d_step { has(announced, number) -> receive(n, number) }
#define arrivals(n) arrival(n, 1) arrival(n, 2) arrival(n, 3) arrival(n, 4) arrival(n, 5) arrival(n, 6) \
    arrival(n, 7) arrival(n, 8) arrival(n, 9) arrival(n, 10)

proctype NodeBus() {
end:
    do
    arrivals(0)
    arrivals(1)
    od
}

/* ======== Faults ======== */

/* A node loses what it has in memory, and its devices lose their connections. */
inline crash(n) {
    for (d : 0 .. DEVICES - 1) {
        if
        :: isConnected(d, n) -> disconnected(d)
        :: else
        fi
    }
    if
    :: transaction[n].state == ended -> endTransaction(n)
    :: else
    fi;
    node[n].phase = idle;
    node[n].waiting = 0;
    node[n].batch = 0;
    node[n].known = 0;
    node[n].early = 0;
    node[n].page = 0;
    node[n].last = lastCommit;
    node[n].delivered = lastCommit
}

/* PostgresError.connectionLost before COMMIT was sent, in PostgresError.swift. */
inline connectionLost(n) { fail(n) }

/* PostgresError.commitUnconfirmed in PostgresError.swift: COMMIT was sent, and its answer is lost. */
inline commitUnconfirmed(n) { node[n].phase = isUnconfirmed }

#define awaitsCommit(n) (node[n].phase == commits || (node[n].phase == isCommitted))

proctype Faults() {
end:
    do
    :: d_step { faults > 0 -> faults--; crash(0) }
    :: d_step { faults > 0 -> faults--; crash(1) }
    :: d_step { faults > 0 && node[0].phase == hasLock -> faults--; connectionLost(0) }
    :: d_step { faults > 0 && node[1].phase == hasLock -> faults--; connectionLost(1) }
    :: d_step { faults > 0 && awaitsCommit(0) -> faults--; commitUnconfirmed(0) }
    :: d_step { faults > 0 && awaitsCommit(1) -> faults--; commitUnconfirmed(1) }
    :: d_step { faults > 0 && device[0].sync != offline -> faults--; disconnected(0) }
    :: d_step { faults > 0 && device[1].sync != offline -> faults--; disconnected(1) }
    od
}

init {
    atomic {
        device[1].node = 1;
        run CommitQueue(0); run CommitQueue(1); run NodeService(0); run NodeService(1); run PostgreSQL(0); run PostgreSQL(1);
        run Client(0); run Client(1); run NodeBus(); run Faults()
    }
}
