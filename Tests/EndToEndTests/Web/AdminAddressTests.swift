import Foundation
import ScrollbackModel
import ScrollbackServer
import TestSupport
import Testing

/// The separate address for administrators (`--admin-address`).
@Suite struct AdminAddressTests {
    private static let free = ["--admin-address", "127.0.0.1:0"]

    /// Returns the client of an administrator at the second address.
    private func admin(_ server: RunningServer) async throws -> API {
        let output = server.folder.appending(component: "server-1.out")
        let url = try await eventually("the server listens for administrators", within: 60) {
            let line = try String(contentsOf: output, encoding: .utf8).split(separator: "\n")
                .first { $0.hasPrefix("administrators on ") }
            return line.flatMap { URL(string: String($0.dropFirst("administrators on ".count))) }
        }
        return API(server: url, token: try await server.token("admin", isAdmin: true))
    }

    @Test func `Only the second address has the admin page and accepts administrators, over HTTP and the WebSocket`()
        async throws
    {
        let server = try await RunningServer.start(RunningServer.withoutLimits + Self.free)
        let (inside, outside) = (try await admin(server), try await server.admin())
        #expect(inside.server != outside.server)
        let script = try #require(WebFile.all.first { $0.path.hasPrefix("/admin/main-") }).path
        for path in ["/admin", script, "/v1/settings", "/metrics", "/v1/me"] {
            #expect(try await inside.call("GET", path).status == 200, "\(path)")
        }
        for path in ["/v1/settings", "/metrics", "/v1/me", "/v1/conversations"] {
            let answer = try await outside.call("GET", path)
            #expect(answer.status == 403 && answer.code == "forbidden", "\(path) \(answer)")
            #expect(answer.json.string("parameter") == "token" && answer.text.contains("--admin-address"), "\(answer)")
        }
        for path in ["/admin", script] {
            #expect(try await outside.call("GET", path).status == 404, "\(path)")
            #expect(try await outside.call("PUT", path).status == 404, "\(path)")
        }
        let made = try await outside.call("POST", "/v1/tokens", #"{"user":"alice"}"#)
        #expect(made.status == 403, "\(made)")
        #expect(try await inside.call("POST", "/v1/tokens", #"{"user":"alice"}"#).status == 200)

        let token = try await server.token("admin", isAdmin: true)
        let hello = #"{"type":"hello","token":"\#(token)","device":"desk"}"#
        let socket = try await TestSocket.open(outside.server)
        socket.send(hello)
        #expect(try await socket.closed() == 4001)
        let accepted = try await TestSocket.open(inside.server)
        accepted.send(hello)
        #expect(try await accepted.next().string("type") == "welcome")
        accepted.close()
        #expect(try await server.terminate() == 0)
    }

    @Test func `Users and links of administrators to files work at the public address`() async throws {
        let server = try await RunningServer.start(RunningServer.withoutLimits + Self.free)
        let inside = try await admin(server)
        let alice = try await server.api("alice")
        #expect(try await alice.call("GET", "/v1/me").status == 200)
        #expect(try await alice.call("GET", "/sdk/scrollback.js").status == 200)
        _ = try await TestSocket.signedIn(server, "alice")
        #expect(try await inside.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice"]}"#).status == 201)
        let upload = try await alice.call(
            "POST", "/v1/media?conversation=group:crew&type=file&name=a.txt", bytes: Array("hello".utf8), type: nil)
        let media = try #require(upload.json.string("media"), "\(upload)")
        let link = try await inside.call("POST", "/v1/media/\(media)/link", "{}")
        let path = try #require(link.json.string("url"), "\(link)")
        var stranger = alice
        stranger.token = nil
        #expect(try await stranger.call("GET", path).text == "hello")
    }

    @Test func `A server without the option accepts administrators at its only address`() async throws {
        let server = try await RunningServer.start()
        #expect(try await server.admin().call("GET", "/v1/settings").status == 200)
        #expect(try await server.admin().call("GET", "/admin").status == 200)
    }

    @Test(arguments: [
        "", ":", "8081", "127.0.0.1", "127.0.0.1:", ":8081", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1",
        "::1:8081", "[]:8081", "[::1]", "http://127.0.0.1:8081",
    ])
    func `A value that is not a host and a port is refused`(_ text: String) {
        #expect(throws: ChatError.self) { try ListenAddress(text, parameter: "admin-address") }
    }

    @Test func `Names, IPv4 and IPv6 addresses are accepted`() throws {
        for (text, host, port) in [("localhost:0", "localhost", 0), ("0.0.0.0:8", "0.0.0.0", 8), ("[::1]:9", "::1", 9)]
        {
            let address = try ListenAddress(text, parameter: "admin-address")
            #expect(address.host == host && address.port == port && address.description == text)
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("LOCALHOST", "localhost"), ("0.0.0.0", "127.0.0.1"),
        ("127.0.0.1", "0.0.0.0"), ("::", "[::1]"),
    ])
    func `The address of all users is refused before the start, with the names of both options`(
        host: String, admin: String
    ) async throws {
        let folder = try TemporaryFolder()
        let data = folder.url.appending(component: "data")
        let result = try await RunningServer.command([
            "serve", "--host", host, "--port", "8080", "--data", data.path, "--admin-address", "\(admin):8080",
        ])
        #expect(result.code == 1 && result.errors.hasPrefix("error: admin-address (\(admin):8080) must"), "\(result)")
        #expect(result.errors.contains("--host and --port") && result.errors.contains("(invalid-parameter)"))
        #expect(!FileManager.default.fileExists(atPath: data.path))
    }

    @Test(arguments: [
        ("127.0.0.1", 8080, "127.0.0.1:8081"), ("127.0.0.1", 0, "127.0.0.1:0"), ("10.0.0.5", 8080, "127.0.0.1:8080"),
        ("0.0.0.0", 8080, "[::1]:8080"), ("0.0.0.0", 8080, "localhost:8080"),
    ])
    func `Addresses that differ are accepted`(host: String, port: Int, admin: String) throws {
        var options = ServerOptions(directory: URL(filePath: "/nowhere"))
        (options.host, options.port) = (host, port)
        options.adminAddress = try ListenAddress(admin, parameter: "admin-address")
        #expect(throws: Never.self) { try options.checkAddresses() }
    }

    @Test func `An address that is in use stops the start with its name`() async throws {
        let other = try await RunningServer.start()
        let folder = try TemporaryFolder()
        let result = try await RunningServer.command([
            "serve", "--port", "0", "--data", folder.url.appending(component: "data").path,
            "--admin-address", "127.0.0.1:\(other.port)",
        ])
        #expect(result.code != 0 && result.errors.contains("Can't listen on 127.0.0.1:\(other.port)"), "\(result)")
    }
}
