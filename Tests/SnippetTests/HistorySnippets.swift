import Foundation
import Scrollback
import ScrollbackTesting
import Testing

/// The examples of the article on history.
@Suite("Examples: history")
struct HistorySnippets {
    func back(chat: Conversation, show: Show<[Message]>) async throws {
        var page = try await chat.history(.latest, limit: 50)
        show(page.messages)
        while let older = page.older {
            page = try await chat.history(older, limit: 50)
            show(page.messages)
        }
    }

    func pager(chat: Conversation, show: Show<[Message]>) async throws {
        let pager = chat.pager(limit: 50)
        while pager.hasNext {
            show(try await pager.next())
        }
    }

    func loop(chat: Conversation, yesterday: Date, show: Show<Message>) async throws {
        for try await message in chat.messages(from: .after(.date(yesterday))) {
            show(message)
        }
    }

    func around(chat: Conversation, id: MessageID) async throws -> [Message] {
        let page = try await chat.history(.around(.id(id), before: 10, after: 10), sort: .oldestFirst)
        return page.messages
    }

    func some(chat: Conversation) async throws -> [Message] {
        let bobs = MessageFilter(types: [.text], senders: ["bob"])
        return try await chat.history(.latest, limit: 20, matching: bobs).messages
    }

    func offline(chat: Conversation, show: Show<String>) async throws -> [Message] {
        let page = try await chat.history(.latest, limit: 50)
        if let reason = page.remoteError { show("only what is on this device: \(reason.message)") }
        return page.messages
    }

    func local(chat: Conversation, show: Show<String>) async throws -> [Message] {
        let page = try await chat.history(.latest, limit: 50, from: .local)
        if let gap = page.gap { show("\(gap.count) messages before these are not on this device") }
        return page.messages
    }

    func one(chat: Conversation, id: MessageID) async throws -> Message? {
        do {
            return try await chat.message(id)
        } catch let error where error.code == .unknownMessage {
            return nil
        }
    }

    @Test("Pages, a pager and a message sequence read the same messages")
    func reads() async throws {
        let stage = try await Stage(saying: 120)
        var pages: [[Int]] = []
        try await back(chat: stage.chat) { pages.append($0.numbers) }
        #expect(pages.flatMap { $0 } == Array((1...120).reversed()))
        #expect(pages.map(\.count) == [50, 50, 20])
        pages = []
        try await pager(chat: stage.chat) { pages.append($0.numbers) }
        #expect(pages == [Array(71...120), Array(21...70), Array(1...20)])
        var messages: [Message] = []
        try await loop(chat: stage.chat, yesterday: Date() - 86_400) { messages.append($0) }
        #expect(messages.numbers == Array(1...120))
        await stage.server.close()
    }

    @Test("Messages can be loaded around a message, by a filter, and by ID")
    func finds() async throws {
        let stage = try await Stage(saying: 40)
        let message = try await stage.messages()[19]
        #expect(try await around(chat: stage.chat, id: message.id).numbers == Array(10...30))
        #expect(try await some(chat: stage.chat).numbers == Array((21...40).reversed()))
        #expect(try await one(chat: stage.chat, id: message.id)?.text == "20")
        #expect(try await one(chat: stage.chat, id: MessageID(UUID())) == nil)
        await stage.server.close()
    }

    @Test("An offline page contains the local messages and reports the missing ones")
    func lacks() async throws {
        let stage = try await Stage(saying: 120)
        let fresh = try await stage.server.client("alice").conversation(Stage.group)
        _ = try await fresh.history(.latest, limit: 10, from: .remote)
        stage.server.goOffline("alice")
        var received: [String] = []
        #expect(try await offline(chat: fresh) { received.append($0) }.count >= 10)
        #expect(try await local(chat: fresh) { received.append($0) }.count >= 10)
        #expect(received.last?.hasSuffix("are not on this device") != false)
        await stage.server.close()
    }
}
