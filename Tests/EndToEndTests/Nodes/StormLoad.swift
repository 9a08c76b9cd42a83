import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport

/// What devices did in a storm, as far as the server has confirmed it.
final class StormLoad: Sendable {
    /// A message that the server has confirmed.
    struct Sent: Sendable {
        /// The absolute name of the conversation.
        let conversation: ConversationID
        let sender: UserID
        /// The sequence number that was confirmed.
        let seq: Seq
        /// The text of the newest edit, or `nil` for a file.
        var text: String?
        var file: Data?
        var isRecalled = false
        /// The users whose reactions were confirmed.
        var reactions: Set<UserID> = []
    }

    private struct State {
        var sent: [MessageID: Sent] = [:]
        /// The number of confirmed changes of each device.
        var progress: [Int: Int] = [:]
        /// The newest message that a user has marked as read.
        var marks: [UserID: [ConversationID: Seq]] = [:]
        var isOver = false
        var failure: (any Error)?
    }

    private let state = Mutex(State())

    var sent: [MessageID: Sent] { state.withLock { $0.sent } }
    var progress: [Int: Int] { state.withLock { $0.progress } }
    var marks: [UserID: [ConversationID: Seq]] { state.withLock { $0.marks } }
    private var isOver: Bool { state.withLock { $0.isOver } }
    func end() { state.withLock { $0.isOver = true } }

    /// Runs the work of a device, and keeps its error.
    func run(_ work: () async throws -> Void) async throws {
        do { try await work() } catch {
            state.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    /// Throws the first error of a device.
    func check() throws { if let failure = state.withLock({ $0.failure }) { throw failure } }

    /// Makes changes on a device until the end, one after the other.
    ///
    /// - Parameters:
    ///   - number: The number of the device.
    ///   - chats: The conversations to write to, by their absolute names.
    ///   - pause: The longest pause between two changes, in milliseconds.
    func work(
        _ client: ChatClient, number: Int, in chats: [ConversationID], pause: Int64, _ generator: SplitMix64
    ) async throws {
        var generator = generator
        var own: [(chat: ConversationID, id: MessageID)] = []
        var count = 0
        while !isOver {
            try await Task.sleep(for: generator.milliseconds(0...pause))
            guard let chat = chats.randomElement(using: &generator) else { return }
            count += 1
            let text = "\(client.user) (\(number)) says \(count) مرحبا 👋"
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<60: own.append((chat, try await send(text, to: chat, by: client)))
            case 60..<66: own.append((chat, try await sendFile(to: chat, by: client, &generator)))
            case 66..<74:
                guard let (chat, id) = own.randomElement(using: &generator) else { continue }
                try await edit(id, in: chat, to: text, by: client)
            case 74..<78:
                guard let index = own.indices.randomElement(using: &generator) else { continue }
                let (chat, id) = own.remove(at: index)
                try await recall(id, in: chat, by: client)
            case 78..<88: try await react(in: chat, by: client)
            default: try await markRead(chat, by: client, &generator)
            }
            state.withLock { $0.progress[number, default: 0] += 1 }
        }
    }

    /// Leaves and joins a group on a device until the end.
    func visit(
        _ group: ConversationID, _ client: ChatClient, number: Int, pause: Int64, in cluster: StormCluster,
        _ generator: SplitMix64
    ) async throws {
        var generator = generator
        let path = "/v1/conversations/\(group)/members/\(client.user)"
        while !isOver {
            try await Task.sleep(for: generator.milliseconds(0...pause))
            try await client.conversation(group).leave().waitForCompletion()
            try await Task.sleep(for: generator.milliseconds(0...pause))
            let answer = try await cluster.admin("PUT", path, "{}")
            guard answer.status < 300 else { throw ChildProcess.Failure(description: "\(answer)") }
            state.withLock { $0.progress[number, default: 0] += 1 }
        }
    }

    // MARK: Changes

    /// Sends a message that is not changed any more.
    func sendLast(to chat: ConversationID, by client: ChatClient) async throws {
        _ = try await send("\(client.user) says goodbye", to: chat, by: client)
    }

    private func record(_ message: Message, in chat: ConversationID, text: String?, file: Data? = nil) {
        let sent = Sent(conversation: chat, sender: message.sender, seq: message.seq, text: text, file: file)
        state.withLock { $0.sent[message.id] = sent }
    }

    private func send(_ text: String, to chat: ConversationID, by client: ChatClient) async throws -> MessageID {
        let message = try await client.conversation(chat).send(.text(text)).waitUntilSent()
        record(message, in: chat, text: text)
        return message.id
    }

    private func sendFile(
        to chat: ConversationID, by client: ChatClient, _ generator: inout SplitMix64
    ) async throws -> MessageID {
        let length = Int.random(in: 1...100_000, using: &generator)
        let bytes = Data((0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let sending = try await client.conversation(chat).send(.file(.data(bytes, name: "noise.bin")))
        let message = try await sending.waitUntilSent()
        record(message, in: chat, text: nil, file: bytes)
        return message.id
    }

    private func edit(
        _ id: MessageID, in chat: ConversationID, to text: String, by client: ChatClient
    ) async throws {
        guard state.withLock({ $0.sent[id]?.text }) != nil else { return }
        try await client.conversation(chat).edit(id, to: .text(text)).waitForCompletion()
        state.withLock { $0.sent[id]?.text = text }
    }

    private func recall(_ id: MessageID, in chat: ConversationID, by client: ChatClient) async throws {
        try await client.conversation(chat).recall(id).waitForCompletion()
        state.withLock { $0.sent[id]?.isRecalled = true }
    }

    /// Reacts to the newest message that the device shows.
    private func react(in chat: ConversationID, by client: ChatClient) async throws {
        let page = try await client.conversation(chat).history(limit: 1, from: .local)
        guard let message = page.messages.first, !message.isDeleted else { return }
        do {
            try await client.conversation(chat).react("👍", to: message.id).waitForCompletion()
            state.withLock { _ = $0.sent[message.id]?.reactions.insert(client.user) }
        } catch {
            // The user has reacted on another device, or the sender has just recalled the message.
            guard error.code == .conflict || error.code == .unknownMessage else { throw error }
        }
    }

    /// Marks one of the newest messages that the device shows as read.
    private func markRead(
        _ chat: ConversationID, by client: ChatClient, _ generator: inout SplitMix64
    ) async throws {
        let page = try await client.conversation(chat).history(limit: 5, from: .local)
        guard let message = page.messages.randomElement(using: &generator) else { return }
        try await markRead(message, in: chat, by: client)
    }

    func markRead(_ message: Message, in chat: ConversationID, by client: ChatClient) async throws {
        try await client.conversation(chat).markRead(upTo: message.id)
        state.withLock { state in
            let known = state.marks[client.user]?[chat] ?? 0
            state.marks[client.user, default: [:]][chat] = max(known, message.seq)
        }
    }
}
