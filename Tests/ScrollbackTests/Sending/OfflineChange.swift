import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import Testing

@testable import Scrollback

/// Changes that a device makes without a connection: usually several, whose order determines the result.
struct OfflineChange: Sendable, CustomTestStringConvertible {
    typealias Make = @Sendable (ChatClient, OfflineScene) async throws -> Void
    typealias Shown = @Sendable (ChatClient, OfflineScene) async throws -> [String]

    let testDescription: String
    /// The user who makes them.
    let user: UserID
    /// The kinds of the queued changes.
    let queued: [Kind]
    /// What each device shows in the end.
    let expected: [String]
    /// Whether Bob's device shows it, too.
    let isShared: Bool
    let make: Make
    let shown: Shown

    init(
        _ name: String, by user: UserID = "alice", queued: [Kind], expected: [String], isShared: Bool = true,
        make: @escaping Make, shown: @escaping Shown
    ) {
        testDescription = name
        (self.user, self.queued, self.expected, self.isShared) = (user, queued, expected, isShared)
        (self.make, self.shown) = (make, shown)
    }

    /// A kind of change that the local store keeps until the server has accepted it.
    enum Kind: Hashable, CustomStringConvertible {
        case request(Request)
        case setting(SettingKind)
        case read, draft

        static var all: Set<Kind> {
            Set(Request.allCases.map { .request($0) } + SettingKind.allCases.map { .setting($0) } + [.read, .draft])
        }

        var description: String {
            switch self {
            case .request(let request): request.rawValue
            case .setting(let setting): setting.rawValue
            case .read: "read"
            case .draft: "draft"
            }
        }

        static let send = Kind.request(.send)
        static let addAction = Kind.request(.addAction)
        static let changeThread = Kind.request(.changeThread)
        static let putConversation = Kind.request(.putConversation)
        static let deleteConversation = Kind.request(.deleteConversation)
        static let putMember = Kind.request(.putMember)
    }

    /// The requests of the outbox.
    enum Request: String, CaseIterable {
        case send, edit, delete, addAction, removeAction, clear, schedule, changeThread, putConversation,
            deleteConversation, putUser, putMember, removeMember, leave

        /// A new request does not compile until it has a case here. It then needs an element in ``OfflineChange/all``.
        init(_ request: OutboxRequest) {
            self =
                switch request {
                case .send: .send
                case .edit: .edit
                case .delete: .delete
                case .addAction: .addAction
                case .removeAction: .removeAction
                case .clear: .clear
                case .schedule: .schedule
                case .changeThread: .changeThread
                case .putConversation: .putConversation
                case .deleteConversation: .deleteConversation
                case .putUser: .putUser
                case .putMember: .putMember
                case .removeMember: .removeMember
                case .leave: .leave
                }
        }
    }
}

// MARK: The table

extension OfflineChange {
    static let all: [OfflineChange] = messages + conversations + memberships + own

    private static let group = OfflineScene.group

    /// The texts of a conversation.
    private static func texts(_ id: ConversationID) -> Shown {
        { device, _ in
            try await device.conversation(id).history(.earliest, limit: 100, sort: .oldestFirst).messages
                .filter { $0.type == .text && !$0.isDeleted }.compactMap(\.text)
        }
    }

    /// The name of a conversation that the server returns.
    private static func name(_ id: ConversationID) -> Shown {
        { device, _ in [try await device.conversation(id).settings().name ?? "-"] }
    }

    /// The members of a conversation and their roles.
    private static func members(_ id: ConversationID) -> Shown {
        { device, _ in try await device.conversation(id).members().members.map { "\($0.id) \($0.role.rawValue)" } }
    }

    private static let messages: [OfflineChange] = [
        OfflineChange(
            "messages", queued: [.send, .send], expected: ["hi", "mine", "reply", "one", "two"],
            make: { device, _ in
                for text in ["one", "two"] { try await device.conversation(group).send(.text(text)) }
            }, shown: texts(group)),
        OfflineChange(
            "edits", queued: [.request(.edit), .request(.edit)], expected: ["second"],
            make: { device, scene in
                for text in ["first", "second"] {
                    try await device.conversation(group).edit(scene.mine, to: .text(text))
                }
            },
            shown: { device, scene in [try await device.conversation(group).message(scene.mine).text ?? "-"] }),
        OfflineChange(
            "recall", queued: [.request(.delete)], expected: ["hi", "reply"],
            make: { device, scene in try await device.conversation(group).recall(scene.mine) }, shown: texts(group)),
        OfflineChange(
            "deletion for the user", queued: [.request(.delete)], expected: ["mine", "reply"], isShared: false,
            make: { device, scene in try await device.conversation(group).delete(scene.hi, for: .me) },
            shown: texts(group)),
        OfflineChange(
            "clearing", queued: [.request(.clear)], expected: ["reply"], isShared: false,
            make: { device, scene in try await device.conversation(group).clear(through: scene.mine) },
            shown: texts(group)),
        OfflineChange(
            "reactions", queued: [.addAction, .addAction, .request(.removeAction)], expected: ["🎉 1"],
            make: { device, scene in
                for value in ["👍", "🎉"] { try await device.conversation(group).react(value, to: scene.hi) }
                try await device.conversation(group).unreact("👍", from: scene.hi)
            },
            shown: { device, scene in
                try await device.conversation(group).message(scene.hi).actions.map { "\($0.value) \($0.count)" }
            }),
        OfflineChange(
            "pins", queued: [.addAction, .addAction, .request(.removeAction)], expected: ["mine"],
            make: { device, scene in
                for message in [scene.hi, scene.mine] { try await device.conversation(group).pin(message) }
                try await device.conversation(group).unpin(scene.hi)
            },
            shown: { device, _ in
                try await device.conversation(group).pinnedMessages().messages.map { $0.text ?? "-" }
            }),
        OfflineChange(
            "votes", queued: [.addAction, .addAction], expected: ["0", "1"],
            make: { device, scene in
                for option in 0...1 { try await device.conversation(group).vote(for: option, in: scene.poll) }
            },
            shown: { device, scene in
                try await device.conversation(group).message(scene.poll).pollResults?.map { "\($0.votes)" } ?? []
            }),
        OfflineChange(
            "thread", queued: [.changeThread, .changeThread, .changeThread], expected: ["true 0"],
            isShared: false,
            make: { device, scene in
                let chat = device.conversation(group)
                try await chat.unfollowThread(of: scene.hi)
                try await chat.followThread(of: scene.hi)
                try await chat.markThreadRead(of: scene.hi)
            },
            shown: { device, _ in
                try await device.conversation(group).threads().threads.map {
                    "\($0.state.isFollowed) \($0.state.unread)"
                }
            }),
        OfflineChange(
            "scheduled messages", queued: [.request(.schedule), .request(.schedule)], expected: ["later", "tomorrow"],
            isShared: false,
            make: { device, scene in
                for (text, hours) in [("later", 1.0), ("tomorrow", 24)] {
                    let time = scene.server.now.addingTimeInterval(hours * 3600)
                    try await device.conversation(group).schedule(.text(text), at: time)
                }
            },
            shown: { device, _ in
                try await device.scheduledMessages().messages.map { $0.submission.content.text ?? "-" }.sorted()
            }),
    ]

    private static let conversations: [OfflineChange] = [
        OfflineChange(
            "new group", queued: [.putConversation, .send, .putConversation, .send],
            expected: ["Two", "first", "second"],
            make: { device, _ in
                let chat = device.conversation(.group("climbing"))
                try await chat.create(ConversationSettings(name: "One", members: ["bob"]))
                try await chat.send(.text("first"))
                try await chat.update(ConversationSettings(name: "Two"))
                try await chat.send(.text("second"))
            },
            shown: { device, scene in
                let name = try await device.recents[.group("climbing")]?.name ?? "-"
                return [name] + (try await texts(.group("climbing"))(device, scene))
            }),
        OfflineChange(
            "changed group", queued: [.putConversation, .putConversation], expected: ["Two"],
            make: { device, _ in
                for name in ["One", "Two"] { try await device.conversation(group).update(.init(name: name)) }
            }, shown: { device, _ in [try await device.recents[group]?.name ?? "-"] }),
        OfflineChange(
            "deleted group", queued: [.deleteConversation], expected: ["gone"],
            make: { device, _ in try await device.conversation(group).deleteConversation() },
            shown: { device, _ in [try await device.recents[group] == nil ? "gone" : "listed"] }),
        OfflineChange(
            "new community", by: "admin",
            queued: [.putConversation, .putConversation, .putConversation, .putConversation],
            expected: ["Town II", "News II"],
            make: { device, _ in
                for (id, name) in [
                    (ConversationID.community("town"), "Town"), (.community("town", channel: "news"), "News"),
                ] {
                    let chat = device.conversation(id)
                    let members: [UserID] = name == "Town" ? ["bob"] : []
                    try await chat.create(ConversationSettings(name: name, members: members))
                    try await chat.update(ConversationSettings(name: name + " II"))
                }
            },
            shown: { device, scene in
                try await name(.community("town"))(device, scene)
                    + name(.community("town", channel: "news"))(device, scene)
            }),
        OfflineChange(
            "deleted community", queued: [.deleteConversation], expected: ["unknown-conversation"],
            make: { device, _ in try await device.conversation(OfflineScene.city).deleteConversation() },
            shown: name(OfflineScene.city)),
        OfflineChange(
            "new channel", queued: [.putConversation, .putConversation, .send], expected: ["Two", "first"],
            make: { device, _ in
                let chat = device.conversation(.community("city", channel: "news"))
                try await chat.create(ConversationSettings(name: "One"))
                try await chat.update(ConversationSettings(name: "Two"))
                try await chat.send(.text("first"))
            },
            shown: { device, scene in
                let id = ConversationID.community("city", channel: "news")
                return try await name(id)(device, scene) + texts(id)(device, scene)
            }),
        OfflineChange(
            "deleted channel", queued: [.deleteConversation], expected: ["unknown-conversation"],
            make: { device, _ in
                try await device.conversation(.community("city", channel: "open")).deleteConversation()
            }, shown: name(.community("city", channel: "open"))),
        OfflineChange(
            "new room", by: "admin", queued: [.putConversation, .putConversation], expected: ["Two"],
            make: { device, _ in
                try await device.conversation(.room("hall")).create(ConversationSettings(name: "One"))
                try await device.conversation(.room("hall")).update(ConversationSettings(name: "Two"))
            }, shown: name(.room("hall"))),
        OfflineChange(
            "changed room", by: "admin", queued: [.putConversation, .putConversation], expected: ["Two"],
            make: { device, _ in
                for name in ["One", "Two"] {
                    try await device.conversation(OfflineScene.lobby).update(.init(name: name))
                }
            }, shown: name(OfflineScene.lobby)),
        OfflineChange(
            "deleted room", by: "admin", queued: [.deleteConversation], expected: ["unknown-conversation"],
            make: { device, _ in try await device.conversation(OfflineScene.lobby).deleteConversation() },
            shown: name(OfflineScene.lobby)),
    ]

    private static let memberships: [OfflineChange] = [
        OfflineChange(
            "members",
            queued: [.putMember, .putMember, .putMember, .request(.removeMember)],
            expected: ["alice owner", "bob member", "carol moderator"],
            make: { device, _ in
                let chat = device.conversation(group)
                for user in ["carol", "dave"] as [UserID] { try await chat.add(user) }
                try await chat.setRole(.moderator, of: "carol")
                try await chat.remove("dave")
            }, shown: members(group)),
        OfflineChange(
            "left group", queued: [.request(.leave)], expected: ["bob owner", "0"],
            make: { device, _ in try await device.conversation(OfflineScene.other).leave() },
            shown: { device, scene in
                // Alice's devices can't list the members any more.
                let members = try scene.server.engine.members(
                    of: OfflineScene.other, after: nil, limit: 100, by: OfflineScene.admin)
                let unread = try await device.recents[OfflineScene.other]?.unread ?? 0
                return members.map { "\($0.id) \($0.role.rawValue)" } + ["\(unread)"]
            }),
        left("left community", OfflineScene.village),
        left("left channel", OfflineScene.board),
    ]

    /// Leaving a conversation, whose members Alice's devices can't list afterwards.
    private static func left(_ name: String, _ id: ConversationID) -> OfflineChange {
        OfflineChange(
            name, queued: [.request(.leave)], expected: ["bob"], isShared: false,
            make: { device, _ in try await device.conversation(id).leave() },
            shown: { _, scene in
                let members = try scene.server.engine.members(
                    of: id, after: nil, limit: 100, by: OfflineScene.admin)
                return members.map(\.id.text).filter { $0 != "admin" }
            })
    }

    private static let own: [OfflineChange] = [
        OfflineChange(
            "profile", queued: [.request(.putUser), .request(.putUser)],
            expected: ["Two", "https://example.com/a.png"],
            isShared: false,
            make: { device, _ in
                try await device.updateProfile(name: "One", avatar: "https://example.com/a.png")
                try await device.updateProfile(name: "Two")
            },
            shown: { device, _ in
                let profile = try await device.profile()
                return [profile.name ?? "-", profile.avatar ?? "-"]
            }),
        OfflineChange(
            "draft", queued: [.draft], expected: ["two"], isShared: false,
            make: { device, _ in
                for text in ["one", "two"] { try await device.conversation(group).setDraft(Draft(text)) }
            }, shown: { device, _ in [try await device.conversation(group).draft()?.text ?? "-"] }),
        OfflineChange(
            "read", queued: [.read], expected: ["0"], isShared: false,
            make: { device, _ in try await device.conversation(OfflineScene.other).markRead() },
            shown: { device, _ in ["\(try await device.recents[OfflineScene.other]?.unread ?? -1)"] }),
        OfflineChange(
            "settings", queued: [.setting(.mark), .setting(.muted), .setting(.notifications), .setting(.pinned)],
            expected: ["true false true mentions"], isShared: false,
            make: { device, _ in
                let chat = device.conversation(group)
                for isOn in [true, false] { try await chat.setMuted(isOn) }
                try await chat.setPinned(true)
                for level in [NotificationLevel.none, .mentions] { try await chat.setNotifications(level) }
                try await chat.markUnread()
            },
            shown: { device, _ in
                guard let entry = try await device.recents[group] else { return ["not listed"] }
                let level = entry.notifications?.rawValue ?? "-"
                return ["\(entry.isMarkedUnread) \(entry.isMuted) \(entry.isPinned) \(level)"]
            }),
        OfflineChange(
            "removed entry", queued: [.setting(.list), .read], expected: ["false"], isShared: false,
            make: { device, _ in try await device.recents.remove(OfflineScene.other) },
            shown: { device, _ in
                ["\(try await device.recents.view().conversations.contains { $0.id == OfflineScene.other })"]
            }),
        OfflineChange(
            "exclusion from new devices", queued: [.setting(.roaming)], expected: ["4"], isShared: false,
            make: { device, _ in try await device.recents.excludeFromNewDevices([group]) },
            shown: { _, scene in
                let head = try scene.server.engine.head(of: group, by: Caller(user: "alice"))
                return ["\(head.newDeviceFloor)"]
            }),
    ]
}
