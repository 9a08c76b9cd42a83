import Crypto
import Foundation
package import ScrollbackModel
import ScrollbackWire

/// A push that is due.
package struct DuePush: Sendable {
    package var user: UserID
    package var notification: PushNotification
    /// The pending push that it results from.
    package var push: PushRow
    /// The retry row of a retry, or of a push whose answer is late.
    package var retry: PushRetryRow?

    package init(user: UserID, notification: PushNotification, push: PushRow, retry: PushRetryRow? = nil) {
        (self.user, self.notification, self.push, self.retry) = (user, notification, push, retry)
    }

    /// Returns the push's retry row, or a new one, for a retry at a date.
    func retryRow(notBefore date: Date, now: Date) -> PushRetryRow {
        var row =
            retry
            ?? PushRetryRow(
                user: user, device: notification.device.id, push: push, attempts: 0, notBefore: date,
                firstTriedAt: now)
        row.notBefore = date
        return row
    }
}

/// One page of a push walk: some of a conversation's recipients, and the pushes for them.
struct PushPage: Sendable {
    var due: [DuePush]
    /// The number of the last pending push that the walk covers.
    var through: Int64
    /// The progress of the walk after this page; `nil` if the page is the last one.
    var walk: PushWalkRow?
}

extension Engine {
    /// The number of recipients per page.
    private static let recipientsPerPage = 100
    /// The maximum number of messages per walk; each recipient gets one push for the newest message that concerns them.
    private static let messagesPerWalk = 100
    /// How long a push service keeps a push for a device that is turned off, in seconds.
    private static let lifetime: TimeInterval = 7 * 86_400

    /// Returns the next page of a conversation's push walk, or `nil` if no pushes are pending.
    func page(of number: Int64, _ settings: PushSettings) throws -> PushPage? {
        try store.read { store in
            let waiting = try store.pushes(of: number, limit: Self.messagesPerWalk)
            guard let newest = waiting.last else { return nil }
            let walk = try store.pushWalk(of: number) ?? PushWalkRow(through: newest.number)
            let pushes = waiting.filter { $0.number <= walk.through }
            guard let row = try store.conversation(numbered: number), !row.isDeleted, !pushes.isEmpty else {
                return PushPage(due: [], through: walk.through, walk: nil)
            }
            var context = PushContext(row: row, store: store, now: clock())
            // Messages that were recalled before they were pushed need neither a push nor a recall.
            let pendingMessages = Set(pushes.filter { $0.kind == .message && $0.seq > 0 }.map(\.seq))
            let subjects = try pushes.filter { $0.kind == .message || !pendingMessages.contains($0.seq) }
                .compactMap { try context.subject(of: $0) }
            let people = try context.people(for: subjects, after: walk.after, limit: Self.recipientsPerPage)
            var due: [DuePush] = []
            for user in people {
                for subject in try selectSubjects(from: subjects, for: user, &context) {
                    due += try notifications(of: subject, to: user, settings, &context)
                }
            }
            let isOver = people.count < Self.recipientsPerPage
            let next = isOver ? nil : people.last.map { PushWalkRow(through: walk.through, after: $0) }
            return PushPage(due: due, through: walk.through, walk: next)
        }
    }

    /// Returns due retries with their pushes, based on the current state of messages, users and devices.
    func retries(
        dueBy time: Date, limit: Int, _ settings: PushSettings
    ) throws -> [(retry: PushRetryRow, due: DuePush?)] {
        try store.read { store in
            try store.pushRetries(dueBy: time, limit: limit).map { retry in
                guard let row = try store.conversation(numbered: retry.push.conversation), !row.isDeleted else {
                    return (retry, nil)
                }
                var context = PushContext(row: row, store: store, now: clock())
                guard let subject = try context.subject(of: retry.push),
                    try decision(on: subject, for: retry.user, &context) == .push
                else { return (retry, nil) }
                let all = try notifications(of: subject, to: retry.user, settings, &context)
                var due = all.first { $0.notification.device.id == retry.device }
                due?.retry = retry
                return (retry, due)
            }
        }
    }

    /// Returns the subjects to push to a user: the newest message that mentions them, or the newest message, and all
    /// recalls.
    private func selectSubjects(
        from subjects: [PushContext.Subject], for user: UserID, _ context: inout PushContext
    ) throws -> [PushContext.Subject] {
        var newest: PushContext.Subject?
        var mention: PushContext.Subject?
        var recalls: [PushContext.Subject] = []
        for subject in subjects.reversed() {
            let isMention = subject.text.mentions?.includes(user) ?? false
            guard subject.text.isRecalled || newest == nil || mention == nil && isMention,
                try decision(on: subject, for: user, &context) == .push
            else { continue }
            if subject.text.isRecalled {
                recalls.append(subject)
            } else {
                newest = newest ?? subject
                if isMention { mention = mention ?? subject }
            }
        }
        return recalls + [mention ?? newest].compactMap(\.self)
    }

    private func decision(
        on subject: PushContext.Subject, for user: UserID, _ context: inout PushContext
    ) throws -> PushDecision {
        var facts = PushDecision.Facts()
        facts.isOwn = subject.sender == user
        facts.isAway = isAway(user)
        guard !facts.isOwn, facts.isAway else { return PushDecision(facts) }
        guard let person = try context.person(user), person.deviceCount > 0 else { return .level }
        facts.isAccessRevoked = try context.isAccessRevoked(user)
        facts.isDeleted = subject.isDeleted
        facts.hasBlockedSender = try context.store.hasBlocked(user, subject.sender)
        facts.isMentioned = subject.text.mentions?.includes(user) ?? false
        let (row, store) = (context.row, context.store)
        let access = try context.access(user) { try visible(row, for: Caller(user: user), in: store) }
        if let access, access.role != nil {
            facts.isVisible = subject.seq == 0 || subject.isRecall || access.visible.contains(subject.seq)
            facts.isRead = subject.seq > 0 && subject.seq <= access.unreadBase.position
            facts.level = person.preferences.level(
                own: access.member?.level, isMuted: access.member?.mutesPushes ?? false, kind: context.row.id.kind,
                at: context.now)
        } else {
            facts.isVisible = false
        }
        return PushDecision(facts)
    }

    private func notifications(
        of subject: PushContext.Subject, to user: UserID, _ settings: PushSettings, _ context: inout PushContext
    ) throws -> [DuePush] {
        guard let person = try context.person(user) else { return [] }
        let devices = try context.store.pushDevices(of: user).filter {
            settings.credentials(for: $0.device.service) != nil
        }
        guard !devices.isEmpty else { return [] }
        let caller = Caller(user: user)
        let badge = try totals(of: membershipSummaries(of: user, in: context.store), for: caller, in: context.store)
            .unread
        let target = PushTarget(
            conversation: context.row.id.relative(to: user), seq: subject.seq > 0 ? subject.seq : nil,
            epoch: subject.seq > 0 ? context.row.epoch(in: store.generation) : nil, message: subject.message,
            sender: subject.sender, type: subject.text.type, receiver: user)
        return devices.compactMap { row in
            let recipient = PushRecipient(
                user: user, language: person.preferences.language ?? row.device.language,
                showsDetail: person.preferences.showsDetail, unread: badge)
            guard let text = settings.texts.resolve(subject.text, for: recipient) else { return nil }
            let notification = PushNotification(
                id: Self.id(of: subject, to: user, row.device.id), device: row.device, text: text, badge: badge,
                target: target, data: subject.text.options.data, link: settings.link(to: target),
                options: subject.text.options, replaces: subject.isRecall, expiresAt: context.now + Self.lifetime)
            return DuePush(user: user, notification: notification, push: subject.push)
        }
    }

    /// Returns an ID that is the same for each attempt to send a push.
    private static func id(of subject: PushContext.Subject, to user: UserID, _ device: Identifier) -> UUID {
        var hash = SHA256()
        for part in ["\(subject.message)", user.text, device.text, subject.isRecall ? "recall" : "message"] {
            hash.update(data: Data(part.utf8))
            hash.update(data: [0])
        }
        var bytes = Array(hash.finalize().prefix(16))
        // Version 8 of RFC 9562: a custom format.
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
