package import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// The export of one user's data, read in bounded parts, each from its own snapshot.
///
/// It is a value type that contains its position, so that the export can be continued later.
package struct PersonalData: Sendable {
    /// One item of the export.
    package enum Record: Sendable {
        case profile(UserProfile, state: String, isInvitationOnly: Bool, lastSeen: Date?)
        /// A ban from a conversation, or from the server if the conversation is `nil`.
        case ban(ConversationID?, Ban)
        case membership(ConversationID, MemberRow)
        case mute(ConversationID, Mute)
        /// The positions that the user's devices reported in a conversation.
        case receipt(ConversationID, ReceiptRow)
        /// The user's state in a thread.
        case thread(ConversationID, ThreadStateRow)
        case message(Message)
        case action(ConversationID, MessageAction)
        case file(MediaRow)
        case blocked(UserID)
        /// An invitation of the user or by the user.
        case invitation(Invitation)
        case report(Report)
        /// An act of the user, or an act of another that concerns the user, in the audit log.
        case act(AuditEntry)
        case pushPreferences(PushPreferences)
        case pushDevice(PushDeviceRow)
        case draft(DraftRow)
        case scheduled(ScheduledRow)
        /// An incoming webhook that posts as the user, without its secret.
        case hook(IncomingWebhookRow)
    }

    private enum Stage: Sendable {
        case profile, drafts, scheduled, hooks, conversations, files, blocks, invitations, invited, reports, ownActs,
            acts,
            done
    }

    private let user: UserID
    private var stage = Stage.profile
    /// The last completed conversation.
    private var through: Int64 = 0
    /// The progress within the next conversation.
    private var seq: Seq = 0
    private var action: Timetoken? = Timetoken(rawValue: 0)
    private var didExportMembership = false
    private var didExportThreads = false
    private var lastThread: MessageID?
    private var lastFile: MediaID?
    private var lastBlocked: UserID?
    private var lastInvited: InvitationRow?
    private var lastReport: Int64 = 0
    private var lastDraft: Int64 = 0
    private var lastScheduled: MessageID?
    private var lastHook: Identifier?
    private var lastAct = Int64.max

    private static let batch = 100
    private static let window: Seq = 5_000

    package init(of user: UserID) {
        self.user = user
    }

    /// Returns the next records and the continued export; the records may be empty, and are `nil` at the end.
    package func next(_ engine: Engine) throws -> (records: [Record]?, data: PersonalData) {
        var data = self
        let records = try engine.store.read { try data.read($0, engine) }
        return (records, data)
    }

    private mutating func read(_ store: any StoreReader, _ engine: Engine) throws -> [Record]? {
        switch stage {
        case .profile:
            stage = .drafts
            var records = try push(store)
            guard let row = try store.user(user) else { return records }
            if row.isBanned, let ban = try store.ban(of: user, in: BanRow.server)?.ban {
                records.insert(.ban(nil, ban), at: 0)
            }
            let lastSeen = try store.lastSeen(of: user)
            records.insert(
                .profile(
                    row.profile, state: row.state.name, isInvitationOnly: row.isInvitationOnly, lastSeen: lastSeen),
                at: 0)
            return records
        case .drafts:
            // A draft can have 128 KiB.
            let rows = try store.drafts(of: user, after: lastDraft, limit: 10)
            lastDraft = rows.last?.rev ?? lastDraft
            if rows.count < 10 { stage = .scheduled }
            return rows.filter { $0.body != nil }.map { .draft($0) }
        case .scheduled:
            let rows = try store.scheduled(of: user, after: lastScheduled, limit: 10)
            lastScheduled = rows.last?.id
            if rows.count < 10 { stage = .hooks }
            return rows.map { .scheduled($0) }
        case .hooks:
            let rows = try store.incomingWebhooks(of: user, after: lastHook, limit: Self.batch)
            lastHook = rows.last?.id
            if rows.count < Self.batch { stage = .conversations }
            return rows.map { .hook($0) }
        case .conversations: return try readConversation(store, engine)
        case .files:
            let files = try store.media(of: user, after: lastFile, limit: Self.batch)
            lastFile = files.last?.id
            if files.count < Self.batch { stage = .blocks }
            return files.map { .file($0) }
        case .blocks:
            let users = try store.blocked(by: user, after: lastBlocked, limit: Self.batch)
            lastBlocked = users.last
            if users.count < Self.batch { stage = .invitations }
            return users.map { .blocked($0) }
        case .invitations:
            let rows = try store.invitations(of: user, after: through, limit: Self.batch)
            through = rows.last?.conversation ?? through
            if rows.count < Self.batch { stage = .invited }
            return try invitations(rows, store, engine)
        case .invited:
            let rows = try store.invitations(by: user, after: lastInvited, limit: Self.batch)
            lastInvited = rows.last
            if rows.count < Self.batch { stage = .reports }
            return try invitations(rows.filter { $0.user != user }, store, engine)
        case .reports:
            let rows = try store.reports(by: user, after: lastReport, limit: Self.batch)
            lastReport = rows.last?.number ?? lastReport
            if rows.count < Self.batch { stage = .ownActs }
            return try rows.compactMap { row in
                try store.conversation(numbered: row.conversation).map { .report(Report(own: row, in: $0.id)) }
            }
        case .ownActs: return try acts(AuditFilter(actor: user), store, next: .acts)
        case .acts: return try acts(AuditFilter(user: user), store, next: .done)
        case .done: return nil
        }
    }

    private mutating func acts(_ filter: AuditFilter, _ store: any StoreReader, next: Stage) throws -> [Record] {
        let rows = try store.audit(filter, below: lastAct, limit: Self.batch)
        lastAct = rows.last?.number ?? lastAct
        if rows.count < Self.batch { (stage, lastAct) = (next, .max) }
        return try rows.filter { next == .acts || $0.actor != user }.map { .act(try AuditEntry($0, in: store)) }
    }

    /// Returns the user's push preferences, if they are set, and their devices.
    private func push(_ store: any StoreReader) throws -> [Record] {
        let preferences = try store.pushUser(user)?.preferences ?? PushPreferences()
        return (preferences == PushPreferences() ? [] : [.pushPreferences(preferences)])
            + (try store.pushDevices(of: user).map { .pushDevice($0) })
    }

    private func invitations(
        _ rows: [InvitationRow], _ store: any StoreReader, _ engine: Engine
    ) throws -> [Record] {
        try rows.compactMap { row in
            try store.conversation(numbered: row.conversation).map { conversation -> Record in
                var invitation = row.invitation(to: conversation)
                // Invited users see the present name. Inviters may have left.
                if row.user != user, let access = try access(to: conversation, store, engine) {
                    (invitation.name, invitation.avatar) = (access.name, access.avatar)
                }
                return .invitation(invitation)
            }
        }
    }

    /// Returns the user's access to a conversation, or `nil` if they may not see it.
    private func access(
        to row: ConversationRow, _ store: any StoreReader, _ engine: Engine
    ) throws -> Access? {
        row.isDeleted ? nil : try engine.visible(row, for: Caller(user: user), in: store)
    }

    private mutating func readConversation(_ store: any StoreReader, _ engine: Engine) throws -> [Record] {
        let member = try store.memberships(of: user, after: through, limit: 1).first
        let participation = try store.participations(of: user, after: through, limit: 1).first
        guard let number = [member?.conversation, participation].compactMap(\.self).min(),
            let row = try store.conversation(numbered: number)
        else {
            stage = .files
            through = 0
            return []
        }
        if !didExportMembership {
            didExportMembership = true
            return try standing(in: row, member?.conversation == number ? member : nil, store)
        }
        if !didExportThreads {
            let states = try store.threadStates(of: user, in: number, after: lastThread, limit: Self.batch)
            lastThread = states.last?.thread
            didExportThreads = states.count < Self.batch
            return states.map { .thread(row.id, $0) }
        }
        let epoch = row.epoch(in: engine.store.generation)
        if seq < row.head, !row.isDeleted {
            let lower = max(seq + 1, row.firstSeq)
            let upper = min(lower + Self.window, row.head)
            guard lower <= upper else {
                seq = row.head
                return []
            }
            let found = try store.messages(
                in: number, lower...upper, newestFirst: false, limit: Self.batch, filter: .senders([user]),
                reader: user)
            seq = found.count == Self.batch ? found.last?.seq ?? upper : upper
            let gone =
                row.hasDeletedRanges
                ? SeqRangeSet(try store.deletedRanges(of: nil, in: number).map(\.places)) : SeqRangeSet()
            let access = try access(to: row, store, engine)
            return try found.filter { !gone.contains($0.seq) }.map { found -> Record in
                let shown = try access?.shown(found, in: store) ?? found
                return .message(shown.message(in: row.id, epoch: epoch))
            }
        }
        if let after = action {
            let found = try store.actions(at: nil, in: number, after: after, limit: 500)
            action = found.count == 500 ? found.last?.timetoken : nil
            return try found.filter { $0.sender == user }.compactMap { action in
                try store.message(at: action.seq, in: number).map { .action(row.id, action.action(on: $0.id)) }
            }
        }
        through = number
        seq = 0
        action = Timetoken(rawValue: 0)
        didExportMembership = false
        didExportThreads = false
        lastThread = nil
        return []
    }

    /// Returns what a conversation stores about the user except messages and actions.
    private func standing(
        in row: ConversationRow, _ member: MemberRow?, _ store: any StoreReader
    ) throws -> [Record] {
        var records: [Record] = member.map { [.membership(row.id, $0)] } ?? []
        if let ban = try store.ban(of: user, in: row.number)?.ban { records.append(.ban(row.id, ban)) }
        if let mute = try store.mute(of: user, in: row.number) { records.append(.mute(row.id, mute)) }
        let receipt = try store.receipt(of: user, in: row.number)
        if receipt != ReceiptRow() { records.append(.receipt(row.id, receipt)) }
        return records
    }
}

extension Report {
    /// Creates a report for its author, without the administrators' note and names.
    fileprivate init(own row: ReportRow, in conversation: ConversationID) {
        self.init(row, in: conversation)
        note = nil
        closedBy = nil
    }
}

extension PersonalData.Record {
    /// Writes the record as members of a JSON object.
    ///
    /// - Parameter link: The URL of a file's bytes.
    package func writeMembers(to writer: inout JSONWriter, link: String?) {
        switch self {
        case .profile(let profile, let state, let isInvitationOnly, let lastSeen):
            writer.field("record", "profile")
            writer.field("state", state)
            writer.field("invitationOnly", isInvitationOnly)
            writer.field("lastSeen", lastSeen)
            writer.key("profile")
            profile.write(to: &writer)
        case .membership(let conversation, let member):
            writer.field("record", "membership")
            writer.field("conversation", conversation)
            writer.field("standing", member.standing.name)
            writer.field("role", member.role.rawValue)
            writer.field("joinSeq", member.joinSeq)
            writer.field("readSeq", member.readSeq)
            writer.field("clearSeq", member.clearSeq)
            writer.field("muted", member.mutesPushes)
            writer.field("notifications", member.level?.rawValue)
            writer.field("pinned", member.isPinned)
            writer.field("markedUnread", member.isMarkedUnread)
        case .ban(let conversation, let ban):
            // Banned users don't learn which moderator banned them.
            writer.field("record", "ban")
            writer.field("conversation", conversation)
            writer.field("until", ban.until)
            writer.field("reason", ban.reason)
            writer.field("at", ban.at)
        case .mute(let conversation, let mute):
            writer.field("record", "mute")
            writer.field("conversation", conversation)
            mute.writeMember(to: &writer)
        case .receipt(let conversation, let receipt):
            writer.field("record", "receipt")
            writer.field("conversation", conversation)
            writer.field("seq", receipt.readSeq)
            writer.field("deliveredSeq", receipt.deliveredSeq)
        case .draft(let draft):
            writer.field("record", "draft")
            writer.field("conversation", draft.conversation)
            writer.field("draft", draft.body)
        case .scheduled(let row):
            writer.field("record", "scheduled")
            writer.field("conversation", row.conversation)
            writer.field("sendAt", row.sendAt)
            writer.field("message", row.body)
        case .hook(let row):
            writer.field("record", "hook")
            writer.field("hook", row.id.text)
            writer.field("conversation", row.conversation)
            writer.field("createdAt", row.createdAt)
        case .thread(let conversation, let state):
            writer.field("record", "thread")
            writer.field("conversation", conversation)
            writer.field("thread", state.thread)
            writer.field("followed", state.following == .followed)
            writer.field("readSeq", state.readSeq)
        case .message(let message):
            writer.field("record", "message")
            writer.key("message")
            message.write(to: &writer)
        case .action(let conversation, let action):
            writer.field("record", "action")
            writer.field("conversation", conversation)
            writer.key("action")
            writer.object { action.writeMembers(to: &$0) }
        case .file(let row):
            writer.field("record", "file")
            writer.field("id", row.id)
            writer.field("conversation", row.conversation)
            writer.field("type", row.type)
            writer.field("name", row.name)
            writer.field("mediaType", row.mediaType)
            writer.field("size", row.size)
            writer.field("createdAt", row.createdAt)
            writer.field("url", link)
        case .blocked(let user):
            writer.field("record", "block")
            writer.field("user", user)
        case .invitation(let invitation):
            writer.field("record", "invitation")
            writer.key("invitation")
            invitation.write(to: &writer)
        case .report(let report):
            writer.field("record", "report")
            writer.key("report")
            writer.object { report.writeMembers(to: &$0) }
        case .act(let act):
            writer.field("record", "act")
            writer.field("at", act.row.at)
            writer.field("action", act.row.action)
            writer.field("conversation", act.conversation)
            writer.field("user", act.row.user)
        case .pushPreferences(let preferences):
            writer.field("record", "pushPreferences")
            writer.key("push")
            preferences.write(to: &writer)
        case .pushDevice(let row):
            writer.field("record", "pushDevice")
            writer.field("device", row.device.id)
            writer.field("service", row.device.service.rawValue)
            writer.field("token", row.device.tokenEnd)
            writer.field("topic", row.device.topic)
            writer.field("language", row.device.language)
            writer.field("registeredAt", row.registeredAt)
        }
    }
}

extension PushDevice {
    /// A suffix of the token that distinguishes devices; the full token would allow sending pushes to the device.
    fileprivate var tokenEnd: String { "…" + token.suffix(token.count < 16 ? 0 : 4) }
}

extension MemberRow.Standing {
    /// The name in the wire format.
    var name: String {
        switch self {
        case .reader: "reader"
        case .member: "member"
        case .left: "left"
        }
    }
}
