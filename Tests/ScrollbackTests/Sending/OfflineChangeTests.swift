import Foundation
import GRDB
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import TestSupport
import Testing

@testable import Scrollback

/// Makes each kind of change that a device queues without a connection, kills the app, starts it again and connects.
@Suite("Changes made offline", .timeLimit(.minutes(10)))
struct OfflineChangeTests {
    @Test("The table of changes made offline has every kind of change that the local store queues")
    func kinds() {
        #expect(Set(OfflineChange.all.flatMap(\.queued)) == OfflineChange.Kind.all)
    }

    @Test(
        "Changes made offline are done once, in order and on all devices after a kill, also if their answers are lost",
        arguments: OfflineChange.all)
    func change(_ change: OfflineChange) async throws {
        let stored = try await result(of: change, losesAnswers: false)
        #expect(try await result(of: change, losesAnswers: true) == stored, "A change was made twice.")
    }

    /// Makes a change, and returns what the server has stored in the end.
    private func result(of change: OfflineChange, losesAnswers: Bool) async throws -> [String] {
        let scene = try await OfflineScene(change.user)
        let server = scene.server
        server.goOffline(change.user)
        try await change.make(scene.phone, scene)
        let queue = change.queued.map(\.description)
        #expect(try await queued(on: scene.phone) == queue)

        let rest = try await scene.killPhone()
        let transport = LossyTransport()
        let phone = try await server.client(change.user, store: .directory(rest.url)) {
            if losesAnswers { transport.use(in: &$0) }
        }
        #expect(try await queued(on: phone) == queue, "The store has the queue after a kill.")
        server.goOnline(change.user)
        var left: [String] = []
        _ = try await eventually {
            phone.retryConnection()
            left = try await queued(on: phone)
            // A refused change does not leave the queue.
            return left.allSatisfy { $0.hasPrefix("refused") }
        }
        #expect(left == [])
        if losesAnswers { #expect(transport.lostCount >= queue.count) }

        let new = try await server.client(change.user)
        for (index, device) in ([phone, scene.laptop, new] + (change.isShared ? [scene.bob] : [])).enumerated() {
            var shown: [String] = []
            let isShown = try await eventually {
                do {
                    shown = try await change.shown(device, scene)
                } catch let error as ChatError {
                    shown = [error.code.rawValue]
                }
                return shown == change.expected
            }
            #expect(isShown, "device \(index) shows \(shown)")
        }
        let stored = try scene.stored(for: change.user)
        await server.close()
        return stored
    }

    /// The changes that a device has not sent: those of the outbox in their order, and then the others.
    private func queued(on device: ChatClient) async throws -> [String] {
        try await device.core.store.read { reader in
            let requests = try reader.outbox().map { item in
                if case .failed(let error) = item.state { return "refused: \(error)" }
                let request = try #require(try reader.request(item.id))
                return OfflineChange.Request(request).rawValue
            }
            let settings = try String.fetchAll(reader.db, sql: "SELECT sort FROM pendingState ORDER BY sort")
            let reads = try reader.pendingReads().map { _ in "read" }
            let drafts = try String.fetchAll(reader.db, sql: "SELECT 'draft' FROM draftSync WHERE isPending")
            return requests + settings + reads + drafts
        }
    }
}
