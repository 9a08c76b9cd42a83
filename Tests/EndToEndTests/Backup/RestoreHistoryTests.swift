import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@Suite("Restored servers")
struct RestoreHistoryTests {
    private let group = ConversationID.group("swift")

    @Test(
        "Devices resynchronize with a restored server, send their queue and lost messages, and count correctly",
        .history(17))
    func clientsResynchronizeAfterRestore() async throws {
        let server = try await RunningServer.start()
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:swift", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
        let proxy = try await TestProxy(to: server)
        let store = try TemporaryFolder()
        let phone = try await Device.open(server, "alice", store: .directory(store.url), over: proxy)
        let laptop = try await Device.open(server, "alice")
        let bob = try await Device.open(server, "bob")
        // A device that connects after twenty messages receives only the newest of them and fetches the rest on
        // request. No device requests them here.
        try await sendMessages(1...1, bob)
        for device in [phone, laptop] { try await expect(device, has: ["bob 1"]) }
        try await sendMessages(2...20, bob)
        for device in [phone, laptop] { try await expect(device, has: (1...20).map { "bob \($0)" }) }
        let tenth = try await phone.conversation(group).history(.latest, limit: 11, from: .local).messages[10]
        try await phone.conversation(group).markRead(upTo: tenth.id)
        for device in [phone, laptop] { try await expect(device, unread: 10) }

        let (backup, _) = try await server.backUp("yesterday")
        // Send and read messages after the backup.
        try await sendMessages(21...30, bob)
        _ = try await phone.conversation(group).send(.text("lost with the server")).waitUntilSent()
        try await expect(laptop, has: (1...30).map { "bob \($0)" } + ["lost with the server"])
        try await laptop.conversation(group).markRead()
        for device in [phone, laptop] { try await expect(device, unread: 0) }

        // The phone loses its connection. It queues messages and a read marker.
        let shown = Shown(phone.conversation(group).timeline(at: .latest, window: 100))
        try await shown.eventually(31)
        proxy.set(.held)
        proxy.cut()
        for number in 1...3 { try await phone.conversation(group).send(.text("queued \(number)")) }
        try await phone.conversation(group).markRead()
        try await server.terminate()
        let restored = server.folder.appending(component: "restored")
        let report = try await RunningServer.restore(backup, to: restored)
        #expect(report.int("messages") == 20)
        try server.replaceData(with: restored)
        try await server.start()
        // Bob's and Alice's connected devices send what the server lost.
        let again = (1...30).map { "bob \($0)" } + ["lost with the server"]
        for device in [laptop, bob] { try await expect(device, has: again, inOrder: false) }
        try await sendMessages(41...45, bob)

        proxy.set(.full)
        let everything = again + (41...45).map { "bob \($0)" } + (1...3).map { "queued \($0)" }
        for device in [phone, laptop, bob] { try await expect(device, has: everything, inOrder: false) }
        await phone.waitForOutbox()
        #expect(try await phone.pendingCount() == 0)
        // When the backup was made, Alice had read ten messages. Reads of the lost log do not apply to the restored
        // log.
        for device in [phone, laptop] { try await expect(device, unread: 25) }
        try await phone.conversation(group).markRead()
        for device in [phone, laptop] { try await expect(device, unread: 0) }
        #expect(try await Device.everything(in: group, of: server).compactMap(\.text).sorted() == everything.sorted())
        try await shown.eventually(39)
        shown.close()
        for device in [phone, laptop, bob] {
            #expect(try await device.verifyIntegrity() == [])
            await device.close()
        }
        #expect(try await server.terminate() == 0)
        for directory in [store.url, server.data] {
            let verdict = try await RunningServer.verdict(directory)
            #expect(verdict.isWhole, "\(verdict.text)")
        }
    }

    private func sendMessages(_ numbers: ClosedRange<Int>, _ client: ChatClient) async throws {
        for number in numbers { try await client.conversation(group).send(.text("bob \(number)")) }
        await client.waitForOutbox()
        #expect(try await client.pendingCount() == 0)
    }

    /// Waits until a device has received exactly these messages, in order and without a gap.
    private func expect(
        _ device: ChatClient, has texts: [String], inOrder: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("\(device.user) has \(texts.count) messages up to \(texts.last ?? "none")") {
            () -> Bool? in
            let page = try await device.conversation(group).history(
                .earliest, limit: 100, sort: .oldestFirst, from: .local)
            let shown = page.messages.compactMap(\.text)
            let isEqual = inOrder ? shown == texts : shown.sorted() == texts.sorted()
            return isEqual && page.gap == nil ? true : nil
        }
    }

    private func expect(_ device: ChatClient, unread: Int64) async throws {
        var count: Int64?
        do {
            try await eventually("\(device.user) has \(unread) unread") { () -> Bool? in
                count = try await device.conversation(group).recent()?.unread
                return count == unread ? true : nil
            }
        } catch {
            throw ChildProcess.Failure(description: "\(error): \(count.map(String.init) ?? "none")")
        }
    }
}

/// Observes a timeline and checks that no view contains an item twice.
private final class Shown: Sendable {
    private let count = Counter()
    private let watching: Task<Void, Never>

    private final class Counter: Sendable {
        let value = Mutex(0)
    }

    init(_ timeline: Timeline) {
        let count = count
        watching = Task {
            for await view in timeline.views {
                var texts: [String] = []
                for item in view.items {
                    switch item {
                    case .message(let message): texts.append(message.text ?? "")
                    case .pending(let pending): texts.append(pending.content.text ?? "")
                    case .gap: break
                    }
                }
                if Set(texts).count != texts.count { Issue.record("A text is shown twice: \(texts)") }
                if Set(view.items.map(\.id)).count != view.items.count { Issue.record("An item is shown twice.") }
                count.value.withLock { $0 = texts.count }
            }
        }
    }

    deinit { watching.cancel() }

    func close() { watching.cancel() }

    func eventually(_ number: Int) async throws {
        try await TestSupport.eventually("\(number) messages are shown") {
            self.count.value.withLock { $0 } == number ? true : nil
        }
    }
}
