import Foundation
import GRDB
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire
import SQLiteSupport

extension LocalReader {
    /// Returns the threads that this device stores or the server returned, in their newest state and with the queued
    /// changes.
    ///
    /// Those with the newest reply come first.
    ///
    /// - Parameters:
    ///   - userRev: `nil` for all threads. Otherwise, only the threads that the user follows. Those that the server
    ///     did not return must have a change of the user above this revision, or a queued one.
    ///   - time: The time of the newest reply below which to return threads; `nil` for all.
    ///   - last: The time of the newest reply at or above which to return threads; `nil` for all. Below it, the server
    ///     may have threads that are missing here.
    ///   - limit: The maximum number of threads that are added to those of the server.
    func threads(
        in id: ConversationID, adding known: [MessageThread], followedAfter userRev: Int64?, before time: Timetoken?,
        through last: Timetoken?, limit: Int
    ) throws -> [MessageThread] {
        guard let local = try localLog(of: id) else { return known }
        // The list of the server may be older than the deletion of a first message.
        let known = known.filter { !local.state.isDeleted($0.parent.seq) }
        let changes = try pendingChanges(in: id)
        let queued = changes.compactMap { change -> MessageID? in
            if case .changeThread(let request) = change, request.change.isFollowed == true {
                request.thread
            } else {
                nil
            }
        }
        let followed = userRev.map { _ in
            let places = Array(repeating: "?", count: queued.count).joined(separator: ", ")
            return """
                AND (id IN (\(places)) OR id IN (SELECT state.thread FROM thread AS state
                    WHERE state.conversation = message.conversation AND state.isFollowed = 1 AND state.userRev > ?))
                """
        }
        var threads = Dictionary(known.map { ($0.id, $0) }) { $1 }
        let below = time.map { Int64(bitPattern: $0.rawValue) } ?? .max
        try eachMessage(
            in: id, number: local.number, epoch: local.state.epoch,
            where: """
                lastReply IS NOT NULL AND lastReply < ? AND lastReply >= ? \(followed ?? "")
                ORDER BY lastReply DESC LIMIT ?
                """
        ) {
            $0.add(below)
            $0.add(Int64(bitPattern: last?.rawValue ?? 0))
            if let userRev {
                for thread in queued { $0.add(thread.uuid) }
                $0.add(userRev)
            }
            // A queued change can stop following a thread.
            $0.add(Int64(limit + changes.count))
        } take: { (parent: consuming Message) in
            if threads[parent.id] == nil {
                let state = ThreadState(thread: parent.id, isFollowed: false, readSeq: 0, unread: 0, mentions: 0)
                threads[parent.id] = MessageThread(parent: parent, lastReply: nil, state: state)
            }
            return true
        }
        let isCounted = Set(known.map(\.id))
        return try threads.values.map { thread in
            var thread = thread
            thread.parent = try newest(thread.parent, in: local)
            thread.lastReply = try lastReply(of: thread, in: local)
            // If this device does not have the newest reply yet, the server's counts are newer.
            let isNewer = isCounted.contains(thread.id) && thread.lastReply.map { $0.seq > local.state.head } ?? false
            thread.state = try state(
                thread.state, isCounted: isCounted.contains(thread.id), isNewer: isNewer, changes, in: local)
            thread.parent = decrypted(thread.parent.applying(changes, by: user))
            thread.lastReply = thread.lastReply.map { decrypted($0.applying(changes, by: user)) }
            return thread
        }.filter { $0.parent.replies != nil && (userRev == nil || $0.state.isFollowed) }.sorted {
            $0.lastReplyAt > $1.lastReplyAt
        }
    }

    /// Returns the stored row of a message if it is newer.
    private func newest(_ message: Message, in local: LocalLog) throws -> Message {
        let stored = try asStored.message(message.id, in: local.id)
        return stored.flatMap { $0.rev > message.rev ? $0 : nil } ?? message
    }

    /// Returns the newest stored reply of a thread if the thread has no newer one, or a newer version of its own.
    private func lastReply(of thread: MessageThread, in local: LocalLog) throws -> Message? {
        var found: Message?
        try eachMessage(
            in: local.id, number: local.number, epoch: local.state.epoch,
            where: "thread = ? AND content IS NOT NULL ORDER BY seq DESC LIMIT 1"
        ) {
            $0.add(thread.id.uuid)
        } take: { (message: consuming Message) in
            found = message
            return false
        }
        guard let last = thread.lastReply, !local.state.isDeleted(last.seq) else { return found }
        if let found, found.seq > last.seq { return found }
        return try newest(last, in: local)
    }

    /// Returns the state in a thread as this device knows it.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the server counted the replies.
    ///   - isNewer: Whether the server counted replies that are not stored on this device.
    private func state(
        _ known: ThreadState, isCounted: Bool, isNewer: Bool, _ changes: [OutboxRequest], in local: LocalLog
    ) throws -> ThreadState {
        var state = known
        if let stored = try storedThread(known.thread, number: local.number), stored.userRev >= state.userRev {
            state.isFollowed = stored.isFollowed
            state.readSeq = max(state.readSeq, stored.readSeq)
        }
        state.readSeq = max(state.readSeq, try readState(local.number)?.position ?? 0)
        for case .changeThread(let request) in changes where request.thread == known.thread {
            state.isFollowed = request.change.isFollowed ?? state.isFollowed
            if let read = request.change.read, read.epoch == local.state.epoch {
                state.readSeq = max(state.readSeq, read.seq)
            }
        }
        let places = state.readSeq + 1...max(state.readSeq + 1, local.state.head)
        guard !isNewer, !isCounted || state.readSeq > known.readSeq || !local.state.gaps.intersects(places),
            let counted = try counted(places, local.state, local.number, thread: known.thread)
        else { return state }
        (state.unread, state.mentions) = (counted.unread, counted.mentions)
        return state
    }

    /// Returns the newest user revision of the conversation's thread states that are stored on this device.
    func threadRev(in id: ConversationID) throws -> Int64 {
        guard let number = try number(of: id) else { return 0 }
        return try first("SELECT ifnull(max(userRev), 0) FROM thread WHERE conversation = ?") {
            $0.add(number)
        } read: {
            $0.integer()
        } ?? 0
    }

    private func storedThread(
        _ thread: MessageID, number: Int64
    ) throws -> (isFollowed: Bool, readSeq: Seq, userRev: Int64)? {
        try first("SELECT isFollowed, readSeq, userRev FROM thread WHERE conversation = ? AND thread = ?") {
            $0.add(number)
            $0.add(thread.uuid)
        } read: {
            (isFollowed: $0.integer() != 0, readSeq: $0.integer(), userRev: $0.integer())
        }
    }
}

extension LocalWriter {
    /// Stores the user's state in a thread, unless a newer one is stored.
    func save(_ state: ThreadState, in id: ConversationID) throws {
        guard let number = try reader.number(of: id) else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO thread (conversation, thread, isFollowed, readSeq, userRev) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (conversation, thread) DO UPDATE
                SET isFollowed = excluded.isFollowed, readSeq = excluded.readSeq, userRev = excluded.userRev
                WHERE excluded.userRev >= thread.userRev
                """
        ).execute(arguments: [number, state.thread.data, state.isFollowed, state.readSeq, state.userRev])
    }
}

extension LocalWriter {
    /// Stores that the user follows no thread besides some, except those that the user changed above a revision.
    func unfollow(except followed: Set<MessageID>, in id: ConversationID, through userRev: Int64) throws {
        guard let number = try reader.number(of: id) else { return }
        let stored = try Data.fetchAll(
            db, sql: "SELECT thread FROM thread WHERE conversation = ? AND isFollowed = 1 AND userRev <= ?",
            arguments: [number, userRev])
        for thread in stored where !followed.contains(MessageID(data: thread)) {
            try db.execute(
                sql: "UPDATE thread SET isFollowed = 0 WHERE conversation = ? AND thread = ?",
                arguments: [number, thread])
        }
    }
}

extension MessageThread {
    fileprivate var lastReplyAt: Timetoken { parent.replies?.lastReplyAt ?? Timetoken(rawValue: 0) }
}
