import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

@Suite("Permissions")
struct PermissionsTests {
    /// The kind of user who attempts an action.
    enum Person: String, CaseIterable, Sendable {
        case owner, moderator, member, left, none, admin
    }

    struct Cell: CustomStringConvertible, Sendable {
        var kind: ConversationKind
        var action: Permission
        var person: Person
        var description: String { "\(person) \(action) \(kind)" }
    }

    /// What it takes, written down once more: the table in code must say the same.
    private static let table: [Permission: [ConversationKind: String]] = [
        .create: [.direct: "anyone", .group: "anyone", .community: "admin", .room: "admin", .system: "admin"],
        .read: [.direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "member"],
        .send: [.direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "admin"],
        .sendHigh: [.direct: "member", .group: "member", .community: "member", .room: "moderator", .system: "admin"],
        .mentionEveryone: [
            .direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "admin",
        ],
        .editOwn: [.direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "admin"],
        .editOthers: [.direct: "admin", .group: "admin", .community: "admin", .room: "admin", .system: "admin"],
        .recall: [.direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "admin"],
        .deleteOthers: [
            .direct: "admin", .group: "moderator", .community: "moderator", .room: "admin", .system: "admin",
        ],
        .deleteHistory: [.direct: "admin", .group: "admin", .community: "admin", .room: "admin", .system: "admin"],
        .act: [.direct: "member", .group: "member", .community: "member", .room: "anyone", .system: "member"],
        .pin: [.direct: "member", .group: "member", .community: "moderator", .room: "moderator", .system: "admin"],
        .listMembers: [.direct: "member", .group: "member", .community: "member", .room: "nobody", .system: "member"],
        .addMember: [
            .direct: "nobody", .group: "moderator", .community: "moderator", .room: "nobody", .system: "nobody",
        ],
        .invite: [.direct: "nobody", .group: "moderator", .community: "moderator", .room: "nobody", .system: "nobody"],
        .removeMember: [
            .direct: "nobody", .group: "moderator", .community: "moderator", .room: "nobody", .system: "nobody",
        ],
        .mute: [.direct: "nobody", .group: "moderator", .community: "moderator", .room: "admin", .system: "nobody"],
        .ban: [.direct: "nobody", .group: "moderator", .community: "moderator", .room: "admin", .system: "nobody"],
        .leave: [.direct: "nobody", .group: "member", .community: "member", .room: "nobody", .system: "nobody"],
        .changeRole: [.direct: "nobody", .group: "owner", .community: "owner", .room: "nobody", .system: "nobody"],
        .changeSettings: [.direct: "nobody", .group: "owner", .community: "owner", .room: "admin", .system: "nobody"],
        .delete: [.direct: "admin", .group: "owner", .community: "owner", .room: "admin", .system: "admin"],
        .importHistory: [.direct: "admin", .group: "admin", .community: "admin", .room: "admin", .system: "admin"],
    ]

    private static let cells: [Cell] = Permission.allCases.flatMap { action in
        ConversationKind.allCases.flatMap { kind in
            Person.allCases.filter { exists($0, kind, action) }.map { Cell(kind: kind, action: action, person: $0) }
        }
    }

    private static func exists(_ person: Person, _ kind: ConversationKind, _ action: Permission) -> Bool {
        // Whoever creates has no role yet, and who is no member can't leave.
        if action == .create { return person == .none || person == .admin }
        if action == .leave, person == .admin || person == .none || person == .left { return false }
        return switch kind {
        case .group, .community: true
        case .direct, .system: person == .member || person == .none || person == .admin
        case .room: person == .none || person == .admin
        }
    }

    private static func isAllowed(_ cell: Cell) -> Bool {
        switch (table[cell.action]?[cell.kind], cell.person) {
        case ("anyone", _): true
        case ("member", .left): cell.action == .read
        case ("member", .none): false
        case ("member", _): true
        case ("moderator", .moderator), ("moderator", .owner), ("moderator", .admin): true
        case ("owner", .owner), ("owner", .admin), ("admin", .admin): true
        default: false
        }
    }

    private static func caller(_ person: Person) -> Caller {
        Caller(user: UserID(known: person.rawValue), isAdmin: person == .admin)
    }

    private static func name(_ kind: ConversationKind) -> ConversationID {
        switch kind {
        case .direct: .direct(between: "member", and: "peer")
        case .group: .group("g")
        case .community: .community("c")
        case .room: .room("r")
        case .system: .system(to: "member", from: "billing")
        }
    }

    /// Returns a harness with one conversation of a kind, which has a user of each role.
    private static func harness(_ kind: ConversationKind, permissions: Permissions = .standard) throws -> EngineHarness
    {
        let harness = try EngineHarness(permissions: permissions)
        let id = name(kind)
        try harness.put(id)
        if kind.traits.membership == .listed || kind.traits.membership == .community {
            for (user, role) in [
                ("member", nil), ("left", nil), ("moderator", Role.moderator), ("owner", .owner), ("victim", nil),
            ] as [(UserID, Role?)] {
                try harness.join(id, user, as: role)
            }
            try harness.leave(id, "left")
        }
        try storeMessages(in: harness, id)
        return harness
    }

    /// Stores a message of each user, including users who may not send.
    private static func storeMessages(in harness: EngineHarness, _ id: ConversationID) throws {
        for user in Person.allCases.map({ UserID(known: $0.rawValue) }) + [EngineHarness.admin.user] {
            try harness.send(
                harness.submission("own", id: ownMessage(of: user)), to: id, by: Caller(user: user, isAdmin: true))
        }
    }

    private static func ownMessage(of user: UserID) -> MessageID {
        let number = user.text.utf8.reduce(0) { $0 * 31 % 65_521 + UInt64($1) }
        return MessageID(high: 0x0198_0000_0000_7001, low: 0x8000_0000_0000_0000 | number)
    }

    private static func attempt(_ cell: Cell, in harness: EngineHarness) throws {
        let id = name(cell.kind)
        let caller = caller(cell.person)
        switch cell.action {
        case .create:
            let new: ConversationID =
                switch cell.kind {
                case .direct: .direct(between: caller.user, and: "somebody")
                case .group: .group("new")
                case .community: .community("new")
                case .room: .room("new")
                case .system: .system(to: "somebody", from: "billing")
                }
            #expect(try harness.put(new, by: caller))
        case .read: _ = try harness.engine.history(of: id, HistoryQuery(), by: caller)
        case .send: try harness.send(harness.submission(), to: id, by: caller)
        case .sendHigh:
            var submission = harness.submission()
            submission.attributes.priority = .high
            try harness.send(submission, to: id, by: caller)
        case .mentionEveryone:
            try harness.send(harness.submission(mentions: .everyone()), to: id, by: caller)
        case .editOwn: try harness.edit(ownMessage(of: caller.user), in: id, "new", by: caller)
        case .editOthers: try harness.edit(ownMessage(of: EngineHarness.admin.user), in: id, "new", by: caller)
        case .recall: try harness.delete(ownMessage(of: caller.user), in: id, by: caller)
        case .deleteOthers: try harness.delete(ownMessage(of: EngineHarness.admin.user), in: id, by: caller)
        case .deleteHistory: #expect(try harness.delete(.all, of: id, by: caller) > 0)
        case .act: try harness.react("👍", to: ownMessage(of: EngineHarness.admin.user), in: id, by: caller)
        case .pin: try harness.pin(ownMessage(of: EngineHarness.admin.user), in: id, by: caller)
        case .listMembers: _ = try harness.engine.members(of: id, after: nil, limit: 10, by: caller)
        case .addMember: #expect(try harness.join(id, "newcomer", by: caller))
        case .invite: try harness.invite("newcomer", to: id, by: caller)
        case .removeMember: try harness.leave(id, "victim", by: caller)
        case .mute: try harness.mute("victim", .forever, in: id, by: caller)
        case .ban: try harness.ban("stranger", from: id, by: caller)
        case .leave: try harness.leave(id, caller.user, by: caller)
        case .changeRole: try harness.join(id, "victim", as: .moderator, by: caller)
        case .changeSettings: #expect(try harness.put(id, .init(name: "new name"), by: caller) == false)
        case .delete: try harness.delete(id, by: caller)
        case .importHistory:
            let sender = id.namedUsers.first ?? "victim"
            #expect(
                try harness.importHistory(
                    [harness.importedMessage("old", by: sender, at: harness.clock.now)], into: id, by: caller
                )
                .imported == 1)
        }
    }

    @Test("Every cell of the table is enforced: permitted users succeed, and other users are refused", arguments: cells)
    func everyCellIsEnforced(_ cell: Cell) throws {
        let harness = try Self.harness(cell.kind)
        let error = refusal { try Self.attempt(cell, in: harness) }
        if Self.isAllowed(cell) {
            #expect(error == nil, "\(cell)")
        } else {
            let error = try #require(error, "\(cell) is allowed")
            #expect([403, 404].contains(error.status), "\(cell): \(error)")
            // A stranger learns only what any user may see.
            if cell.person == .none, cell.action != .create, cell.kind != .room {
                // Changing the settings of an unknown conversation would create it, which is forbidden.
                let wouldMake = cell.action == .changeSettings && cell.kind != .group
                #expect(error.code == (wouldMake ? .forbidden : .unknownConversation), "\(cell): \(error)")
            }
            if [.member, .moderator, .owner].contains(cell.person), cell.kind != .room {
                #expect(error.status == 403 || error.code == .unknownMember, "\(cell): \(error)")
            }
        }
    }

    @Test("A refused action changes nothing", arguments: cells.filter { !isAllowed($0) })
    func refusalsChangeNothing(_ cell: Cell) throws {
        let harness = try Self.harness(cell.kind)
        let before = try Self.snapshot(harness, cell.kind)
        _ = refusal { try Self.attempt(cell, in: harness) }
        #expect(try Self.snapshot(harness, cell.kind) == before, "\(cell)")
    }

    private static func snapshot(_ harness: EngineHarness, _ kind: ConversationKind) throws -> [String] {
        try harness.store.read { store in
            var lines: [String] = []
            for number in Int64(1)...10 {
                guard var row = try store.conversation(numbered: number) else { continue }
                row.lastCommit = 0
                lines.append("\(row)")
                lines += try store.members(of: number, after: nil, limit: 100).map { "\($0)" }
            }
            return lines
        }
    }

    @Test("The permissions in code equal the table in this test")
    func permissionsEqualTheTable() {
        for action in Permission.allCases {
            for kind in ConversationKind.allCases {
                #expect(Permissions.standard[action, kind].rawValue == Self.table[action]?[kind], "\(action) \(kind)")
            }
        }
    }

    @Test("Every cell is configurable: `nobody` excludes even administrators", arguments: Permission.allCases)
    func nobodyExcludesAdministrators(_ action: Permission) throws {
        var permissions = Permissions.standard
        permissions[action, .group] = .nobody
        // The conversation is created before the permissions change.
        let store = MemoryStore(generation: 1)
        _ = try EngineHarness(store: store)
        let harness = try Self.harness(.group, store: store, then: permissions)
        for person in [Person.member, .owner, .admin] where Self.exists(person, .group, action) {
            let cell = Cell(kind: .group, action: action, person: person)
            #expect(refusal { try Self.attempt(cell, in: harness) } != nil, "\(cell)")
        }
    }

    @Test(
        "Every cell is configurable: `member` permits every member",
        arguments: Permission.allCases.filter { $0 != .create })
    func memberPermitsEveryMember(_ action: Permission) throws {
        var permissions = Permissions.standard
        permissions[action, .group] = .member
        let harness = try Self.harness(.group, store: MemoryStore(generation: 1), then: permissions)
        let cell = Cell(kind: .group, action: action, person: .member)
        #expect(refusal { try Self.attempt(cell, in: harness) } == nil, "\(cell)")
        let stranger = Cell(kind: .group, action: action, person: .none)
        let again = try Self.harness(.group, store: MemoryStore(generation: 1), then: permissions)
        #expect(refusal { try Self.attempt(stranger, in: again) } != nil, "\(stranger)")
    }

    /// Returns a harness with custom permissions, whose group was created with the standard permissions.
    private static func harness(_ kind: ConversationKind, store: MemoryStore, then permissions: Permissions) throws
        -> EngineHarness
    {
        let before = try EngineHarness(store: store)
        try before.put(name(kind))
        for (user, role) in [("member", nil), ("left", nil), ("owner", Role.owner), ("victim", nil)]
            as [(UserID, Role?)]
        {
            try before.join(name(kind), user, as: role)
        }
        try before.leave(name(kind), "left")
        try storeMessages(in: before, name(kind))
        return try EngineHarness(store: store, permissions: permissions)
    }

    // MARK: Invisible conversations

    /// The ID of a message in the existing conversation.
    private static let knownID = MessageID(high: 0x7000, low: 1 << 63)

    /// Operations that a stranger can attempt on a conversation that they can't see.
    private static let probes: [(String, @Sendable (EngineHarness, ConversationID, Caller) throws -> Void)] = [
        ("history", { _ = try $0.engine.history(of: $1, HistoryQuery(), by: $2) }),
        ("message", { _ = try $0.engine.message($0.newID(), in: $1, by: $2) }),
        ("head", { _ = try $0.engine.head(of: $1, by: $2) }),
        ("members", { _ = try $0.engine.members(of: $1, after: nil, limit: 10, by: $2) }),
        ("send", { try $0.send($0.submission(), to: $1, by: $2) }),
        (
            "send a stored message",
            { try $0.send($0.submission("hi", id: MessageID(high: 0x7000, low: 1 << 63)), to: $1, by: $2) }
        ),
        ("command", { try $0.send($0.submission(type: .command), to: $1, by: $2) }),
        ("join", { try $0.join($1, $2.user, by: $2) }),
        ("add", { try $0.join($1, "friend", by: $2) }),
        ("leave", { try $0.leave($1, $2.user, by: $2) }),
        ("remove", { try $0.leave($1, "alice", by: $2) }),
        ("put", { try $0.put($1, .init(name: "x"), by: $2) }),
        ("delete", { try $0.delete($1, by: $2) }),
        (
            "read",
            { (harness, id, caller) in
                _ = try harness.done {
                    harness.engine.read(id, seq: 1, epoch: Epoch(rawValue: 1), by: caller, completion: $0)
                }
            }
        ),
        ("edit", { try $0.edit(knownID, in: $1, "x", by: $2) }),
        ("recall", { try $0.delete(knownID, in: $1, by: $2) }),
        ("delete messages", { try $0.delete([knownID], in: $1, by: $2) }),
        ("delete for oneself", { try $0.hide([knownID], in: $1, by: $2.user) }),
        ("delete a range", { try $0.delete(.all, of: $1, by: $2) }),
        (
            "clear",
            { (harness, id, caller) in
                _ = try harness.done {
                    harness.engine.clear(id, through: 1, epoch: Epoch(rawValue: 1), by: caller, completion: $0)
                }
            }
        ),
        ("react", { try $0.react("x", to: knownID, in: $1, by: $2) }),
        ("actions", { _ = try $0.engine.actions(on: nil, in: $1, after: nil, limit: 10, by: $2) }),
        ("actions of a message", { _ = try $0.engine.actions(on: knownID, in: $1, after: nil, limit: 10, by: $2) }),
        (
            "count",
            { (harness, id, caller) in
                let since = [(conversation: id, time: Timetoken(rawValue: 0))]
                for count in try harness.engine.counts(since: since, by: caller) { _ = try count.count.get() }
            }
        ),
        (
            "fetch",
            { (harness, id, caller) in
                for page in try harness.engine.fetch(FetchQuery([(id, nil)]), by: caller) { _ = try page.result.get() }
            }
        ),
        (
            "refresh",
            { (harness, id, caller) in
                for message in try harness.engine.refresh([MessageReference(knownID, in: id)], by: caller) {
                    _ = try message.result.get()
                }
            }
        ),
        ("search", { _ = try $0.search(SearchQuery("hi", in: $1), by: $2) }),
        (
            "import",
            { try $0.importHistory([$0.importedMessage("x", by: "alice", at: $0.clock.now)], into: $1, by: $2) }
        ),
        (
            "sync",
            { (harness, id, caller) in
                let position = LogPosition(conversation: id, epoch: Epoch(rawValue: 1), view: 0, seq: 0, rev: 0)
                _ = try harness.engine.syncLogs([position], by: caller)[0].result.get()
            }
        ),
    ]

    @Test(
        "The error for a conversation that a user can't see equals the error for one that does not exist",
        arguments: [
            (ConversationID.group("g"), ConversationID.group("h")),
            (.direct(between: "alice", and: "bob"), .direct(between: "alice", and: "zoe")),
            (.system(to: "alice", from: "billing"), .system(to: "zoe", from: "billing")),
            (.community("c"), .community("d")),
            (.community("c", channel: "public"), .community("c", channel: "nowhere")),
            (.community("c", channel: "secret"), .community("c", channel: "nowhere")),
        ])
    func invisible(_ there: ConversationID, _ notThere: ConversationID) throws {
        for (name, probe) in Self.probes {
            let harness = try EngineHarness()
            try harness.make(.group("g"), members: ["alice", "bob"])
            try harness.make(.community("c"), members: ["alice", "bob", "insider"])
            try harness.put(.community("c", channel: "public"))
            try harness.put(.community("c", channel: "secret"), .init(isPrivate: true, members: ["alice"]))
            let id = MessageID(high: 0x7000, low: 1 << 63)
            for log in [there.logID] {
                try harness.send(harness.submission("hi", id: id), to: log, by: EngineHarness.admin)
            }
            // Other members of the community learn nothing about a private channel.
            let isSecret = there.part == "secret"
            // A put creates a missing group, so it reveals whether a name is taken.
            if name == "put", there.kind == .group { continue }
            for caller in [Caller(user: "mallory")] + (isSecret ? [Caller(user: "insider")] : []) {
                let first = refusal { try probe(harness, there, caller) }
                let second = refusal { try probe(harness, notThere, caller) }
                #expect(first != nil, "\(name) of \(there) by \(caller.user)")
                #expect(first == second, "\(name) of \(there) by \(caller.user)")
                #expect(
                    first?.status == 404 || name == "put",
                    "\(name) of \(there) by \(caller.user): \(String(describing: first))")
            }
        }
    }

    @Test("The error for a message that a reader can't see equals the error for one that does not exist")
    func invisibleMessages() throws {
        let harness = try EngineHarness()
        try harness.make(.group("g"), members: ["alice"])
        let early = harness.submission("early")
        try harness.send(early, to: .group("g"), by: "alice")
        try harness.join(.group("g"), "bob")
        func error(_ id: MessageID, _ anchor: (HistoryPoint) -> Anchor) -> ChatError? {
            guard var error = refusal({ _ = try harness.page(anchor(.id(id)), of: .group("g"), by: "bob") }) else {
                return nil
            }
            let message = error.message
            error.message = message.replacingOccurrences(of: id.description, with: "ID")
            return error
        }
        for anchor: (HistoryPoint) -> Anchor in [{ .before($0) }, { .after($0) }, { .around($0, before: 1, after: 1) }]
        {
            #expect(error(early.id, anchor) == error(harness.newID(), anchor))
            #expect(error(early.id, anchor)?.code == .unknownMessage)
        }
        #expect(
            refusal { _ = try harness.engine.message(early.id, in: .group("g"), by: Caller(user: "bob")) }?.code
                == .unknownMessage)
    }

    @Test("The channel list shows private channels only to their members")
    func channels() throws {
        let harness = try EngineHarness()
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(.community("c", channel: "open"))
        try harness.put(.community("c", channel: "secret"), .init(isPrivate: true, members: ["alice"]))
        func names(_ user: UserID) throws -> [String] {
            try harness.engine.channels(of: "c", after: nil, limit: 10, by: Caller(user: user)).heads.compactMap(
                \.conversation.part?.text)
        }
        #expect(try names("alice") == ["default", "open", "secret"])
        #expect(try names("bob") == ["default", "open"])
        #expect(refusal { _ = try names("zoe") }?.code == .unknownConversation)
        let first = try harness.engine.channels(of: "c", after: nil, limit: 2, by: Caller(user: "alice"))
        #expect(first.heads.count == 2)
        let second = try harness.engine.channels(of: "c", after: first.next, limit: 2, by: Caller(user: "alice"))
        #expect(second.heads.map(\.conversation.part) == ["secret"])
        #expect(second.next == nil)
    }
}
