import Foundation
import Scrollback
import ScrollbackTesting
import Testing

// The examples of the article on members, receipts and presence.

@Suite("Examples: members, receipts and presence", .timeLimit(.minutes(10)))
struct PeopleSnippets {
    func peerRead(_ timeline: Timeline, show: Show<String>) async {
        for await view in timeline.views {
            for case .message(let message) in view.items {
                show("\(message.text ?? "") \(message.seq <= view.peerReadSeq ? "✓✓" : "✓")")
            }
            break
        }
    }

    func readers(_ chat: Conversation, _ message: Message, show: Show<String>) async throws {
        var page = try await chat.readers(of: message.id)
        for reader in page.readers { show(page.profiles[reader.id]?.name ?? reader.id.text) }
        while let next = page.next {
            page = try await chat.readers(of: message.id, after: next)
            for reader in page.readers { show(page.profiles[reader.id]?.name ?? reader.id.text) }
        }
    }

    func deliveries(_ view: Timeline.View, show: Show<String>) {
        for case .message(let message) in view.items {
            let isRead = message.seq <= view.peerReadSeq
            let isDelivered = message.seq <= view.peerDeliveredSeq
            show("\(message.text ?? "") \(isRead ? "✓✓ read" : isDelivered ? "✓✓" : "✓")")
        }
    }

    func recipients(_ chat: Conversation, _ message: Message, show: Show<String>) async throws {
        let page = try await chat.recipients(of: message.id)
        for recipient in page.recipients { show(page.profiles[recipient.id]?.name ?? recipient.id.text) }
    }

    func find(_ client: ChatClient, text: String, show: Show<String>) async throws {
        var next: String?
        repeat {
            let page = try await client.people(matching: text, after: next)
            for person in page.people { show(person.name ?? person.id.text) }
            next = page.next
        } while next != nil
    }

    func members(_ chat: Conversation, show: Show<String>) async throws {
        let page = try await chat.members()
        for member in page.members {
            show("\(page.profiles[member.id]?.name ?? member.id.text), \(member.role)")
        }
    }

    func manage(_ chat: Conversation) async throws {
        try await chat.add("carol")
        try await chat.setRole(.moderator, of: "carol")
        try await chat.mute("bob", .until(.now.addingTimeInterval(3600)))
        try await chat.mute("bob", nil)
        try await chat.remove("carol").waitForCompletion()  // Only if the app needs the server's answer.
    }

    func mayWrite(_ view: Timeline.View, role: Role) -> Bool {
        let isMuted = view.mute?.isActive(at: .now) ?? false
        return !isMuted && (!view.isFrozen || role >= .moderator)
    }

    func invite(_ chat: Conversation) async throws {
        try await chat.invite("carol", for: .seconds(7 * 86_400))
    }

    func invited(_ client: ChatClient, show: Show<String>) async throws {
        for invitation in try await client.invitations() {
            show("\(invitation.by) invites you to \(invitation.name ?? "a group")")
            try await client.conversation(invitation.conversation).join()  // Or .declineInvitation().
        }
    }

    func presence(_ client: ChatClient, show: Show<String>) async throws {
        for await people in try client.presence(of: ["bob", "carol"]) {
            for (user, presence) in people {
                show(presence.isOnline ? "\(user) is online" : "\(user) left \(presence.lastSeen?.description ?? "")")
            }
            if people.count == 2 { break }
        }
    }

    func notice(_ message: Message, show: Show<String>) {
        guard let notice = message.content?.notice else { return }
        switch notice.event {
        case .memberAdded: show("\(message.sender) added \(notice.user?.text ?? "a member")")
        case .nameChanged: show("renamed to \(notice.name ?? "no name")")
        default: show(message.text ?? "")  // A newer server may send unknown events.
        }
    }

    @Test("The examples for members, receipts and presence run")
    func run() async throws {
        let stage = try await Stage(saying: 1)
        try await stage.server.setFeatures(presence: true, notices: true, directory: true)
        let message = try #require(try await stage.messages().first)
        var shown: [String] = []
        try await stage.chat.markRead()
        #expect(try await eventually { try await stage.chat.readers(of: message.id).readers.count == 1 })
        try await readers(stage.chat, message) { shown.append($0) }
        try await members(stage.chat) { shown.append($0) }
        #expect(shown == ["Alice", "Alice, owner", "Bob, member"])
        try await manage(stage.chat)
        try await invite(stage.chat)
        let carol = try await stage.server.client("carol") { $0.sharesPresence = true }
        for await state in carol.connection where state == .online { break }
        shown = []
        try await invited(carol) { shown.append($0) }
        #expect(shown == ["alice invites you to swift"])
        shown = []
        try await presence(stage.alice) { shown.append($0) }
        #expect(shown.contains("carol is online"))
        shown = []
        try await find(stage.alice, text: "bo") { shown.append($0) }
        #expect(shown == ["Bob"])
        shown = []
        for message in try await stage.messages() { notice(message) { shown.append($0) } }
        #expect(shown.first == "alice added carol" && shown.last == "carol joined")
        let direct = stage.alice.conversation(.direct("bob"))
        _ = try await direct.send(.text("hi")).waitUntilSent()
        shown = []
        await peerRead(direct.timeline()) { shown.append($0) }
        #expect(shown == ["hi ✓"])
        for await view in stage.chat.timeline().views {
            #expect(mayWrite(view, role: .member))
            break
        }
        await stage.server.close()
    }
}
