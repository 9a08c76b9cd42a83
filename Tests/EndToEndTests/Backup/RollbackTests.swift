import Foundation
import Scrollback
import ScrollbackModel
import TestSupport
import Testing

/// Data directories that are put back behind the server's back, as a snapshot of a volume.
@Suite("Data directories that are put back")
struct RollbackTests {
    private let group = ConversationID.group("swift")

    private func start() async throws -> RunningServer {
        let server = try await RunningServer.start()
        let made = try await server.admin().call(
            "PUT", "/v1/conversations/group:swift", #"{"members":["alice","bob","carol"]}"#)
        try #require(made.status == 201)
        return server
    }

    @Test("A device replaces messages that the server lost, and its user's own lost messages are sent again")
    func snapshotIsPutBack() async throws {
        let server = try await start()
        let store = try TemporaryFolder()
        let phone = try await Device.open(server, "alice", store: .directory(store.url))
        // Carol's device keeps nothing, so that it does not send the lost messages again.
        var carol = try await Device.open(server, "carol")
        try await send(["one", "two", "three"], carol)
        try await expect(phone, has: ["one", "two", "three"])

        let copy = server.folder.appending(component: "copy")
        try FileManager.default.copyItem(at: server.data, to: copy)
        try await send(["lost 4", "lost 5", "lost 6"], carol)
        try await expect(phone, has: ["one", "two", "three", "lost 4", "lost 5", "lost 6"])
        try await send(["mine"], phone)
        await phone.close()
        await carol.close()
        let whole = try await Self.verify(store.url, against: server.data)
        #expect(whole.code == 0, "\(whole.output)\(whole.errors)")
        try await server.terminate()

        try server.replaceData(with: copy)
        let diverged = try await Self.verify(store.url, against: server.data)
        #expect(diverged.code == 1)
        #expect(diverged.output.contains("the store went back to an earlier state"), "\(diverged.output)")
        #expect(diverged.output.contains("the client has messages up to 7, the store up to 3"), "\(diverged.output)")
        try await server.start()
        carol = try await Device.open(server, "carol")
        let sent = ["new 4", "new 5", "new 6", "new 7", "new 8"]
        try await send(sent, carol)
        let ahead = try await Self.verify(store.url, against: server.data)
        #expect(ahead.code == 1)
        #expect(ahead.output.contains("message 4 is"), "\(ahead.output)")

        let again = try await Device.open(server, "alice", store: .directory(store.url))
        let everything = ["one", "two", "three"] + sent + ["mine"]
        for device in [again, carol, try await Device.open(server, "bob")] {
            try await expect(device, has: everything)
            #expect(try await device.verifyIntegrity() == [])
        }
        #expect(server.log.contains("The store went back to an earlier state"))
        let metrics = try await server.admin().call("GET", "/metrics")
        #expect(metrics.text.contains("scrollback_store_rollbacks_total 1"), "\(metrics.text)")
        await again.close()
        await carol.close()
        let last = try await Self.verify(store.url, against: server.data)
        #expect(last.code == 0, "\(last.output)\(last.errors)")
        try await server.terminate()
        // A further start does not find the same rollback again.
        try await server.start()
        let once = try await Device.open(server, "alice", store: .directory(store.url))
        try await expect(once, has: everything)
        #expect(!server.log.contains("The store went back to an earlier state"))
        await once.close()
        try await server.terminate()
    }

    @Test("A lost message is sent again with its file")
    func lostFile() async throws {
        let server = try await start()
        let phone = try await Device.open(server, "alice")
        try await send(["one"], phone)
        let copy = server.folder.appending(component: "copy")
        try FileManager.default.copyItem(at: server.data, to: copy)
        let data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        let sent = try await phone.conversation(group).send(.file(.data(data, name: "a.bin"))).waitUntilSent()
        try await server.terminate()

        try server.replaceData(with: copy)
        try await server.start()
        let bob = try await Device.open(server, "bob")
        let isBack = try await eventually {
            phone.retryConnection()
            let page = try? await bob.conversation(group).history(.latest, limit: 1, from: .remote)
            return page?.messages.first?.id == sent.id
        }
        #expect(isBack)
        let shown = try await bob.conversation(group).history(.latest, limit: 1).messages.first
        let media = try #require(shown?.content?.media)
        #expect(media == sent.content?.media)
        #expect(try Data(contentsOf: await bob.media.file(for: media)) == data)
        await phone.close()
        await bob.close()
        #expect(try await server.terminate() == 0)
        let verdict = try await RunningServer.verdict(server.data)
        #expect(verdict.isWhole, "\(verdict.text)")
    }

    @Test("`restore --in-place` gives a stopped server's directory a new generation")
    func inPlace() async throws {
        let server = try await start()
        let phone = try await Device.open(server, "alice")
        try await send(["one"], phone)
        let running = try await RunningServer.command(["restore", "--in-place", "--data", server.data.path])
        #expect(running.code != 0)
        #expect(running.errors.contains("stop the server that uses it"), "\(running.errors)")
        let copy = server.folder.appending(component: "copy")
        try FileManager.default.copyItem(at: server.data, to: copy)
        try await send(["lost"], phone)
        try await server.terminate()

        try server.replaceData(with: copy)
        let renewed = try await RunningServer.command(
            ["restore", "--in-place", "--data", server.data.path, "--json"])
        #expect(renewed.code == 0, "\(renewed.errors)")
        #expect(Members(Array(renewed.output.utf8)).int("messages") == 1)
        try await server.start()
        phone.retryConnection()
        try await eventually("the lost message is sent again") { () -> Bool? in
            let texts = try await Device.everything(in: group, of: server).map(\.text)
            return texts == ["one", "lost"] ? true : nil
        }
        try await expect(phone, has: ["one", "lost"])
        #expect(!server.log.contains("The store went back to an earlier state"))
        await phone.close()
        for arguments in [["restore"], ["restore", copy.path, "--in-place"]] {
            #expect(try await RunningServer.command(arguments).code != 0)
        }
        #expect(try await server.terminate() == 0)
        let verdict = try await RunningServer.verdict(server.data)
        #expect(verdict.isWhole, "\(verdict.text)")
    }

    private static func verify(
        _ client: URL, against data: URL
    ) async throws -> (code: Int32, output: String, errors: String) {
        let ended = try await RunningServer.command(["verify", client.path, "--against", data.path, "--json"])
        return (ended.code, ended.output, ended.errors)
    }

    private func send(_ texts: [String], _ client: ChatClient) async throws {
        for text in texts { _ = try await client.conversation(group).send(.text(text)).waitUntilSent() }
    }

    /// Waits until a device has exactly these messages, in order and without a gap.
    private func expect(
        _ device: ChatClient, has texts: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let chat = device.conversation(group)
        var shown: [String] = []
        let isEqual = try await eventually {
            let page = try? await chat.history(.earliest, limit: 100, sort: .oldestFirst)
            shown = page?.messages.compactMap(\.text) ?? []
            return shown == texts && page?.gap == nil && page?.remoteError == nil
        }
        #expect(isEqual, "\(device.user) has \(shown)", sourceLocation: sourceLocation)
    }
}
