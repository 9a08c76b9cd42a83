import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import ScrollbackWire
import TestSupport
import Testing

@testable import Scrollback

/// A server with conversations of Alice and Bob, two devices of the user who changes something, and one of Bob.
///
/// Alice owns the group "swift" and the community "city". Bob owns the group "other".
struct OfflineScene: Sendable {
    static let group = ConversationID.group("swift")
    static let other = ConversationID.group("other")
    static let city = ConversationID.community("city")
    static let village = ConversationID.community("village")
    /// A private channel.
    static let board = ConversationID.community("village", channel: "board")
    static let lobby = ConversationID.room("lobby")
    static let admin = Caller(user: "admin", isAdmin: true)

    let server: TestServer
    /// The device that makes changes, whose store is in a folder.
    let phone: ChatClient
    let laptop: ChatClient
    let bob: ChatClient
    /// Messages of the group: a text and a poll from Bob, and a text from Alice.
    let hi: MessageID
    let poll: MessageID
    let mine: MessageID
    private let folder: TemporaryFolder

    /// - Parameter user: The user who changes something.
    init(_ user: UserID) async throws {
        folder = try TemporaryFolder()
        server = try TestServer(users: ["alice", "bob", "carol", "dave"])
        try await server.makeGroup("swift", members: ["alice", "bob"])
        try await server.makeGroup("other", members: ["bob", "alice"])
        try await server.makeCommunity("city", channels: ["open"], members: ["alice", "bob"])
        try await server.perform {
            $0.putMember("alice", role: .owner, of: Self.city, by: Self.admin, completion: $1)
        }
        try await server.makeCommunity("village", channels: [], members: ["alice", "bob"])
        try await server.perform {
            $0.putConversation(
                Self.board, ConversationSettings(isPrivate: true, members: ["alice", "bob"]), by: Self.admin,
                completion: $1)
        }
        try await server.makeRoom("lobby")
        let alice = try await server.client("alice")
        phone = try await server.client(user, store: .directory(folder.url))
        laptop = try await server.client(user)
        bob = try await server.client("bob")
        for client in [alice, phone, laptop, bob] { try await client.ready() }
        let chat = bob.conversation(Self.group)
        hi = try await chat.send(.text("hi")).waitUntilSent().id
        poll = try await chat.send(.poll(Poll(question: "Which?", options: ["a", "b"]))).waitUntilSent().id
        mine = try await alice.conversation(Self.group).send(.text("mine")).waitUntilSent().id
        let last = try await chat.send(.text("reply"), replyingTo: hi).waitUntilSent().id
        _ = try await bob.conversation(Self.other).send(.text("welcome")).waitUntilSent()
        await alice.close()
        for client in [phone, laptop, bob] where client.user != "admin" {
            let isReceived = try await eventually {
                guard try await client.recents[Self.other]?.unread == (client.user == "bob" ? 0 : 1) else {
                    return false
                }
                return try await client.conversation(Self.group).localMessages([hi, poll, mine, last]).missing.isEmpty
            }
            try #require(isReceived)
        }
        try #require(stored(for: user).contains { $0.contains(" mine ") })
        // The log then shows a change of members or settings that is made twice.
        try await server.setFeatures(notices: true)
    }

    /// Ends the phone's app as a kill does: only what the store has on disk by now remains, in a new folder.
    func killPhone() async throws -> TemporaryFolder {
        let rest = try TemporaryFolder()
        // The writer doesn't write in the meantime.
        try await phone.core.store.write { [folder, rest] _ in
            for name in ["client.sqlite", "client.sqlite-wal"] {
                let file = folder.url.appending(path: name)
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                try FileManager.default.copyItem(at: file, to: rest.url.appending(path: name))
            }
        }
        await phone.close()
        return rest
    }

    /// What the server has stored, without IDs and times that differ between two runs.
    func stored(for user: UserID) throws -> [String] {
        var lines: [String] = []
        for id in [
            Self.group, Self.other, .group("climbing"), Self.city.logID, .community("city", channel: "open"),
            .community("city", channel: "news"), Self.village.logID, Self.board, .community("town", channel: "news"),
            .community("town", channel: "default"), Self.lobby, .room("hall"),
        ] { lines += try stored(id, for: Caller(user: user)) }
        lines += try server.engine.drafts(since: nil, by: Caller(user: user)).drafts.map {
            "draft \($0.conversation) \($0.draft?.text ?? "-")"
        }
        // The administrator has no profile.
        let profile = try? server.engine.user(user)
        return lines + ["profile \(profile?.name ?? "-") \(profile?.avatar ?? "-")"]
    }

    private func stored(_ id: ConversationID, for caller: Caller) throws -> [String] {
        let engine = server.engine
        guard let head = try? engine.head(of: id, by: Self.admin) else { return ["\(id) does not exist"] }
        var lines = ["\(id) \(head.name ?? "-") \(head.isFrozen) \(head.state.head) \(head.state.rev)"]
        if let own = try? engine.head(of: id, by: caller) {
            lines.append(
                """
                own \(own.isMember) \(own.unread) \(own.readSeq) \(own.isMuted) \(own.isPinned) \(own.isMarkedUnread) \
                \(own.removedSeq) \(own.newDeviceFloor) \(own.notifications?.rawValue ?? "-")
                """)
        }
        if let members = try? engine.members(of: id.administered, after: nil, limit: 100, by: Self.admin) {
            lines.append("members \(members.map { "\($0.id) \($0.role.rawValue)" })")
        }
        return try lines
            + server.messages(in: id).map { message in
                let actions = message.actions.map { "\($0.type) \($0.value) \($0.count)" }
                return """
                    \(message.seq) \(message.sender) \(message.type.rawValue) \(message.text ?? "-") \
                    \(message.isDeleted) \(message.rev) \(actions) \(message.replies?.count ?? 0)
                    """
            }
    }
}
