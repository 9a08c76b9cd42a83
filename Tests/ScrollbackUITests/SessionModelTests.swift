import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import TestSupport
import Testing

@MainActor
@Suite("SessionModel")
struct SessionModelTests {
    @Test("Sign-in opens the store of the token's user on the server, and sign-out deletes it")
    func signsIn() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        var stores: [ChatClient.Configuration.Store] = []
        let model = SessionModel(server: " https://chat.example.com ", folder: folder.url) {
            (configuration) async throws(ChatError) in
            stores.append(configuration.store)
            return try await server.disconnectedClient(configuration.user, store: configuration.store)
        }
        #expect(!model.canSignIn, "The token is missing.")
        for user: UserID in ["alice", "Alice", "alice"] {
            model.token = "\(token(user))\n"
            #expect(model.canSignIn)
            await model.signIn()
            #expect(model.client?.user == user && model.list != nil && !model.canSignIn)
            try await shows { model.connection == .online }
            await model.signOut()
            #expect(
                model.client == nil && model.list == nil && model.connection == .idle && model.token.isEmpty
                    && model.error == nil)
        }
        #expect(Set(stores).count == 2 && stores[0] == stores[2])
        for case .directory(let store) in stores {
            #expect(store.path.hasPrefix(folder.url.path))
            #expect(try FileManager.default.contentsOfDirectory(atPath: store.path).isEmpty)
        }
        await server.close()
    }

    @Test("A slash at the end of a server's address does not change the store")
    func slash() async throws {
        let folder = try TemporaryFolder()
        let server = try TestServer()
        var stores: Set<ChatClient.Configuration.Store> = []
        for address in ["https://chat.example.com/app", "https://chat.example.com/app/"] {
            let model = SessionModel(server: address, token: token("alice"), folder: folder.url) {
                (configuration) async throws(ChatError) in
                stores.insert(configuration.store)
                return try await server.disconnectedClient(configuration.user, store: configuration.store)
            }
            await model.signIn()
            #expect(model.client != nil)
            await model.signOut()
        }
        #expect(stores.count == 1)
        await server.close()
    }

    @Test("A text that is no token or no URL is an error that names it")
    func errors() async throws {
        let model = SessionModel(server: "http://127.0.0.1:9", token: "secret", folder: nil)
        await model.signIn()
        #expect(model.error?.parameter == "token" && model.client == nil && model.canSignIn)
        model.token = token("alice")
        model.server = "chat"
        await model.signIn()
        #expect(model.error?.parameter == "server" && model.client == nil)
        model.error = nil
        model.server = "http://127.0.0.1:9"
        await model.signIn()
        #expect(model.client?.user == "alice" && model.error == nil, "A server that can't be reached is no error.")
        await model.signOut()
    }

    @Test("The connection shows that the server can't be reached, and that it can again")
    func connection() async throws {
        let server = try TestServer()
        let model = SessionModel(server: "http://chat", token: token("alice"), folder: nil) {
            (configuration) async throws(ChatError) in try await server.disconnectedClient(configuration.user)
        }
        await model.signIn()
        try await shows { model.connection == .online }
        server.goOffline("alice")
        try await shows { if case .waiting = model.connection { true } else { false } }
        server.goOnline("alice")
        try await shows { model.connection == .online }
        await server.close()
    }
}

/// Returns the text of a token without a valid signature.
func token(_ user: UserID) -> String {
    let claims = Data(#"{"sub":"\#(user)"}"#.utf8).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    return "e30.\(claims).c2ln"
}
