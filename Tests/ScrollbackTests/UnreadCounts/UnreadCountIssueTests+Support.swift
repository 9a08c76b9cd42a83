import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackTesting
import TestSupport
import Testing

/// Expectations and administrative operations of the count tests.
extension UnreadCountIssueTests {
    // MARK: Counts

    /// Makes the clients load these messages. A new client has all counts, but only the newest message.
    func see(_ messages: [Message], on devices: [ChatClient]) async throws {
        let ids = Set(messages.map(\.id))
        for device in devices {
            let hasAll = try await eventually {
                let page = try await device.conversation(group).history(.earliest, limit: 100)
                return ids.isSubset(of: page.messages.map(\.id))
            }
            #expect(hasAll)
        }
    }

    /// Expects that the server and each client reach the same counts and keep them.
    func expect(
        _ unread: Int64, mentions: Int64 = 0, of user: UserID = "bob", in id: ConversationID? = nil,
        on devices: [ChatClient], _ server: TestServer, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let id = id ?? group
        let isThere = try await eventually {
            let serverState = try server.serverState(of: id, for: user)
            return serverState?.unread == unread && serverState?.mentions == mentions
        }
        let serverState = try server.serverState(of: id, for: user)
        #expect(isThere, "the server counts \(serverState?.unread ?? -1)", sourceLocation: sourceLocation)
        for device in devices {
            _ = try await eventually { try await device.shownCounts(in: id) == [unread, mentions] }
        }
        // Requests in flight complete in this time, and must not change the counts.
        try await Task.sleep(for: .milliseconds(30))
        for device in devices {
            let shown = try await device.shownCounts(in: id)
            #expect(shown == [unread, mentions], "\(id)", sourceLocation: sourceLocation)
            #expect(try await device.verifyIntegrity() == [], sourceLocation: sourceLocation)
        }
    }
}

extension ChatClient {
    func shownCounts(in id: ConversationID) async throws -> [Int64] {
        let recent = try await conversation(id).recent()
        return [recent?.unread ?? -1, recent?.mentions ?? -1]
    }
}

extension TestServer {
    private static let admin = Caller(user: "admin", isAdmin: true)

    /// Deletes a range for everyone as an administrator, from one message up to and excluding another.
    func deleteRange(from first: Message, to end: Message, of id: ConversationID) async throws {
        let range = DeleteRange(from: .timetoken(first.timetoken), to: .timetoken(end.timetoken))
        try await perform { $0.delete(range, of: id, by: Self.admin, completion: $1) }
    }

    func delete(_ id: ConversationID) async throws {
        try await perform { $0.deleteConversation(id, by: Self.admin, completion: $1) }
    }

    /// Imports one message of each of these senders in one request. The messages count as unread.
    func put(_ senders: [UserID], into id: ConversationID) async throws {
        var generator = SystemRandomNumberGenerator()
        let messages = senders.enumerated().map { place, sender in
            ImportedMessage(
                sender: sender, sentAt: now,
                submission: Submission(id: MessageID(at: now, using: &generator), content: .text("message \(place)")))
        }
        let report = try await perform {
            $0.importHistory(messages, into: id, countsUnread: true, by: Self.admin, completion: $1)
        }
        #expect(report.imported == senders.count)
    }
}
