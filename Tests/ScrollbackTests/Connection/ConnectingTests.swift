import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackTesting
import Synchronization
import TestSupport
import Testing

/// Tests the arguments with which a client connects, and the errors if it can't.
@Suite("Connecting")
struct ConnectingTests {
    private struct NoSession: Error {}

    @Test("A request states why the app's token provider failed")
    func failedTokenProvider() async throws {
        let server = try TestServer()
        let reason = ChatError(.invalidParameter, "The app has no session.")
        for (failure, message) in [
            (reason, "The app has no session."), (NoSession(), "The app's token provider failed."),
        ] as [(any Error, String)] {
            let alice = try await server.disconnectedClient("alice") { $0.token = { throw failure } }
            alice.connect()
            let error = await #expect(throws: ChatError.self) { _ = try await alice.blockedUsers() }
            #expect(error?.code == .unreachable && error?.message == message)
            let cause = try #require(error?.cause)
            let isCause = (cause is NoSession) == (failure is NoSession)
            #expect(isCause)
        }
        await server.close()
    }

    @Test("A request to a server that can't be reached does not state an earlier failure of the token provider")
    func earlierFailure() async throws {
        let server = try TestServer()
        let fails = Mutex(true)
        let alice = try await server.disconnectedClient("alice") {
            $0.token = {
                if fails.withLock({ $0 }) { throw NoSession() }
                return "alice"
            }
        }
        alice.connect()
        await #expect(throws: ChatError.self) { _ = try await alice.blockedUsers() }
        fails.withLock { $0 = false }
        alice.retryConnection()
        try await alice.ready()
        server.goOffline("alice")
        for await state in alice.connection where state != .online { break }
        let error = await #expect(throws: ChatError.self) { _ = try await alice.blockedUsers() }
        let isEarlier = error?.cause is NoSession
        #expect(error?.code == .unreachable && !isEarlier)
        await server.close()
    }

    @Test("A request of a rejected client has the reason of the rejection as its cause")
    func rejected() async throws {
        let server = try TestServer()
        let alice = try await server.disconnectedClient("alice") { $0.token = { "bob" } }
        alice.connect()
        for await state in alice.connection { if case .rejected = state { break } }
        let error = await #expect(throws: ChatError.self) { _ = try await alice.blockedUsers() }
        let cause = error?.cause as? ChatError
        #expect(error?.code == .unreachable && cause?.code == .invalidToken)
        await server.close()
    }

    @Test("A token can end with a newline, as the content of a file does")
    func newline() async throws {
        let server = try TestServer()
        let alice = try await server.client("alice") { $0.token = { "alice\n" } }
        #expect(try await alice.blockedUsers().isEmpty)
        await server.close()
    }

    @Test("The scheme of a server's address can have uppercase letters")
    func uppercase() async throws {
        let recorder = AddressRecorder()
        var configuration = ChatClient.Configuration(
            server: try #require(URL(string: "HTTPS://chat.example.com/app/")), user: "alice", store: .inMemory,
            token: { "alice" })
        configuration.transport = recorder
        let alice = try await ChatClient.open(configuration)
        alice.connect()
        let address = try await eventually("The client connects") { recorder.addresses.withLock { $0.first } }
        #expect(address == "https://chat.example.com/app/")
        await alice.close()
    }

    @Test("Opening a client fails if the file of trusted certificates has none")
    func certificates() async throws {
        let folder = try TemporaryFolder()
        let empty = folder.url.appending(component: "empty.pem")
        try Data().write(to: empty)
        for file in [empty, folder.url.appending(component: "missing.pem")] {
            var configuration = ChatClient.Configuration(
                server: try #require(URL(string: "https://chat.example.com")), user: "alice", store: .inMemory,
                token: { "alice" })
            configuration.trustedCertificate = file
            let opened = configuration
            let error = await #expect(throws: ChatError.self) { _ = try await ChatClient.open(opened) }
            #expect(error?.code == .invalidParameter && error?.parameter == "trustedCertificate")
        }
    }
}

/// Records the addresses at which a client tries to connect.
private final class AddressRecorder: Transport {
    let addresses = Mutex<[String]>([])

    func open(
        _ url: URL, events: @escaping @Sendable (TransportEvent) -> Void
    ) async throws(ChatError) -> any TransportConnection {
        addresses.withLock { $0.append(url.absoluteString) }
        throw ChatError(.unreachable, "No server answers.")
    }
}
