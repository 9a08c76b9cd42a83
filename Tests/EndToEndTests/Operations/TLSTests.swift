import AsyncHTTPClient
import Foundation
import NIOSSL
import Scrollback
import ScrollbackModel
import ScrollbackServer
import TestSupport
import Testing

@Suite struct TLSTests {
    /// Creates a self-signed certificate for a host name. The certificate of localhost also contains its IP address.
    private func makeCertificate(
        in folder: URL, name: String = "chain", for host: String = "localhost",
        key: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    ) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=\(host)", "-newkey",
            ] + key + [
                "-addext", "subjectAltName=DNS:\(host)" + (host == "localhost" ? ",IP:127.0.0.1" : ""), "-keyout",
                folder.appending(component: "\(name).key").path,
                "-out", folder.appending(component: "\(name).pem").path,
            ]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(
            process.terminationStatus == 0, "This test requires the program openssl (apt-get install openssl).")
    }

    private func connects(to server: RunningServer, trusting certificate: URL) async -> Bool {
        do {
            let socket = try await TestSocket.open(server.url, trusting: certificate)
            socket.send(#"{"type":"hello","token":"\#(try await server.token("alice"))","device":"\#(UUID())"}"#)
            return try await socket.next().string("type") == "welcome"
        } catch {
            return false
        }
    }

    @Test
    func `A client that trusts the certificate connects over TLS, and a new certificate is used without a restart`()
        async throws
    {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url)
        try makeCertificate(in: folder.url, name: "other")
        func file(_ name: String) -> URL { folder.url.appending(component: name) }
        try FileManager.default.copyItem(at: file("chain.pem"), to: file("live.pem"))
        try FileManager.default.copyItem(at: file("chain.key"), to: file("live.key"))
        let server = try await RunningServer.start(
            ["--tls-certificate", file("live.pem").path, "--tls-key", file("live.key").path], folder: folder)
        #expect(server.url.scheme == "https")

        // The SDK connects.
        let token = try await server.token("alice")
        var configuration = ChatClient.Configuration(
            server: server.url, user: "alice", store: .inMemory, token: { token })
        configuration.trustedCertificate = file("chain.pem")
        let client = try await ChatClient.open(configuration)
        client.connect()
        let message = try await client.conversation(.direct("bob")).send(.text("over TLS")).waitUntilSent()
        #expect(message.seq == 1)

        // An HTTP client connects. Clients that trust only other certificates do not.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(file("chain.pem").path)
        let http = HTTPClient(configuration: API.configuration(tls))
        #expect(try await API(server: server.url, token: token).call("GET", "/v1/me", client: http).status == 200)
        try await http.shutdown()
        #expect(await !connects(to: server, trusting: file("other.pem")))
        await #expect(throws: (any Error).self) {
            try await API(server: server.url, token: token).call("GET", "/v1/me")
        }

        // The server does not use a certificate that does not match its key. It does as soon as they match.
        let open = try await TestSocket.open(server.url, trusting: file("chain.pem"))
        open.send(#"{"type":"hello","token":"\#(token)","device":"open"}"#)
        _ = try await open.next()
        try replace(file("live.pem"), with: file("other.pem"))
        try await eventually("the server logs that the certificate does not match the key") {
            server.log.contains("Can't load the new certificate") ? true : nil
        }
        #expect(await connects(to: server, trusting: file("chain.pem")))
        try replace(file("live.key"), with: file("other.key"))
        try await eventually("new connections get the new certificate") {
            await self.connects(to: server, trusting: file("other.pem")) ? true : nil
        }
        #expect(await !connects(to: server, trusting: file("chain.pem")))
        #expect(try await open.request(#""type":"ping""#).string("type") == "result")
        await client.close()
        #expect(try await server.terminate() == 0)
    }

    private func replace(_ file: URL, with other: URL) throws {
        let copy = file.appendingPathExtension("copy")
        try FileManager.default.copyItem(at: other, to: copy)
        try #require(rename(copy.path, file.path) == 0)
    }

    /// Starts a server that accepts every TLS version up to `version`.
    private func stub(
        upTo version: TLSVersion, _ chain: URL, _ key: URL, body: String = "{}"
    ) async throws -> StubServer {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(chain.path).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key.path, format: .pem)))
        tls.minimumTLSVersion = .tlsv1
        tls.maximumTLSVersion = version
        return try await StubServer(tls: try NIOSSLContext(configuration: tls)) { _ in
            StubServer.Reply(status: 200, body: body)
        }
    }

    @Test func `The server downloads an issuer's keys only with a trusted certificate and TLS 1.2`() async throws {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url)
        let (chain, key) = (folder.url.appending(component: "chain.pem"), folder.url.appending(component: "chain.key"))
        let set = try String(contentsOfFile: TokenKeyFiles.path("set.json"), encoding: .utf8)
        let older = try await stub(upTo: .tlsv11, chain, key, body: set)
        let newer = try await stub(upTo: .tlsv12, chain, key, body: set)
        let trusting = KeyDownload.overHTTP(trustingAlso: chain.path)
        let keys = try await TokenKeys.read(KeyLocation(newer.address + "/keys"), download: trusting)
        #expect(keys.summary.contains(#"RS256 "web-rsa""#))
        for (server, download, hint) in [
            (newer, KeyDownload.overHTTP(), "SCROLLBACK_TOKEN_AUTHORITIES"), (older, trusting, "can't be read"),
        ] {
            let error = await #expect(throws: ChatError.self) {
                try await TokenKeys.read(KeyLocation(server.address + "/keys"), download: download)
            }
            #expect(error?.message.contains(hint) == true, "\(String(describing: error))")
        }
    }

    @Test func `The server uses a store of files only with a trusted certificate`() async throws {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url)
        let (chain, key) = (folder.url.appending(component: "chain.pem"), folder.url.appending(component: "chain.key"))
        let store = try await stub(upTo: .tlsv13, chain, key)
        let exports = "export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b"
        for (shell, reason) in [
            (exports, "can't be reached"),
            ("\(exports) SCROLLBACK_FILES_AUTHORITIES='\(chain.path)'", "answers not a list of keys"),
        ] {
            let process = try RunningServer.run(
                [
                    "serve", "--port", "0", "--data", folder.url.appending(component: "data").path,
                    "--files", "s3://files?endpoint=\(store.address)",
                ], shell: shell, name: UUID().uuidString, folder: folder.url)
            #expect(try await process.waitForEnd() == 1)
            #expect(process.errorText.contains(reason), "\(process.errorText)")
        }
    }

    @Test func `The server and the SDK refuse TLS versions older than 1.2`() async throws {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url)
        let (chain, key) = (folder.url.appending(component: "chain.pem"), folder.url.appending(component: "chain.key"))
        let server = try await RunningServer.start(
            ["--tls-certificate", chain.path, "--tls-key", key.path], folder: folder)
        let (older, newer) = (try await stub(upTo: .tlsv11, chain, key), try await stub(upTo: .tlsv12, chain, key))
        let (olderURL, newerURL) = (try #require(URL(string: older.address)), try #require(URL(string: newer.address)))

        for (version, isTaken) in [(TLSVersion.tlsv1, false), (.tlsv11, false), (.tlsv12, true), (.tlsv13, true)] {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(chain.path)
            tls.minimumTLSVersion = .tlsv1
            tls.maximumTLSVersion = version
            let http = HTTPClient(configuration: API.configuration(tls))
            // The client connects to a server that accepts the version.
            #expect(try await API(server: olderURL).call("GET", "/", client: http).status == 200, "\(version)")
            let answer = try? await API(server: server.url).call("GET", "/healthz", client: http)
            #expect((answer?.status == 200) == isTaken, "\(version)")
            try await http.shutdown()
        }

        let http = AsyncHTTPClientTransport(trusting: chain)
        #expect(try await http.exchange(HTTPExchange(method: "GET", url: newerURL)).status == 200)
        // The SDK keeps trying. A response would have arrived long before the cancellation.
        let asking = Task { try await http.exchange(HTTPExchange(method: "GET", url: olderURL)) }
        try await Task.sleep(for: .seconds(1))
        asking.cancel()
        await #expect(throws: ChatError.self) { try await asking.value }
        // WebSockets do not connect either. A client reports a different kind of server only after it got a response.
        var reasons: [String] = []
        for url in [olderURL, newerURL] {
            do {
                _ = try await TestSocket.open(url, trusting: chain)
            } catch {
                reasons.append("\(error)")
            }
        }
        #expect(reasons.count == 2 && !reasons[0].contains("is not a Scrollback server"), "\(reasons)")
        #expect(reasons.last?.contains("is not a Scrollback server") == true, "\(reasons)")
        #expect(await connects(to: server, trusting: chain))
    }

    @Test func `Over TLS 1.2, only suites with ephemeral keys and authenticated encryption are used`() async throws {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url, key: ["rsa:2048"])
        let (chain, key) = (folder.url.appending(component: "chain.pem"), folder.url.appending(component: "chain.key"))
        let server = try await RunningServer.start(
            ["--tls-certificate", chain.path, "--tls-key", key.path], folder: folder)
        // The other server accepts each of the suites, so a client has them all.
        let other = try await stub(upTo: .tlsv12, chain, key)
        let otherURL = try #require(URL(string: other.address))
        let suites: [(NIOTLSCipher, Bool)] = [
            (.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true), (.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, true),
            (.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, false), (.TLS_RSA_WITH_AES_128_GCM_SHA256, false),
            (.TLS_RSA_WITH_AES_256_CBC_SHA, false),
        ]
        for (suite, isTaken) in suites {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(chain.path)
            tls.maximumTLSVersion = .tlsv12
            tls.cipherSuiteValues = [suite]
            let http = HTTPClient(configuration: API.configuration(tls))
            #expect(try await API(server: otherURL).call("GET", "/", client: http).status == 200, "\(suite)")
            let answer = try? await API(server: server.url).call("GET", "/healthz", client: http)
            #expect((answer?.status == 200) == isTaken, "\(suite)")
            try await http.shutdown()
        }
    }

    @Test func `A certificate for another name is refused even if the client trusts it`() async throws {
        let folder = try TemporaryFolder()
        try makeCertificate(in: folder.url, for: "chat.example.org")
        let (chain, key) = (folder.url.appending(component: "chain.pem"), folder.url.appending(component: "chain.key"))
        let server = try await RunningServer.start(
            ["--tls-certificate", chain.path, "--tls-key", key.path], folder: folder)
        #expect(await !connects(to: server, trusting: chain))
        let http = AsyncHTTPClientTransport(trusting: chain)
        let asking = Task { try await http.exchange(HTTPExchange(method: "GET", url: server.url)) }
        try await Task.sleep(for: .seconds(1))
        asking.cancel()
        await #expect(throws: ChatError.self) { try await asking.value }
        // Without a check of the name, a client connects: nothing else is wrong with the certificate.
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(chain.path)
        tls.certificateVerification = .noHostnameVerification
        let trusting = HTTPClient(configuration: API.configuration(tls))
        #expect(try await API(server: server.url).call("GET", "/healthz", client: trusting).status == 200)
        try await trusting.shutdown()
    }

    @Test func `A certificate that can't be used is refused at the start with an error that names the file`()
        async throws
    {
        let folder = try TemporaryFolder()
        let data = ["serve", "--port", "0", "--data", folder.url.appending(component: "data").path]
        try makeCertificate(in: folder.url)
        try makeCertificate(in: folder.url, name: "other")
        func error(_ certificate: String?, _ key: String?) async throws -> String {
            let files = [("--tls-certificate", certificate), ("--tls-key", key)].flatMap { option, name in
                name.map { [option, folder.url.appending(component: $0).path] } ?? []
            }
            let result = try await RunningServer.command(data + files)
            #expect(result.code == 1)
            return result.errors.replacing(folder.url.path + "/", with: "")
        }
        let isPEM = "must be a PEM file that this user can read. (invalid-parameter)"
        #expect(try await error("nowhere.pem", "chain.key") == "error: The certificate chain nowhere.pem \(isPEM)\n")
        #expect(try await error("chain.pem", "nowhere.key") == "error: The private key nowhere.key \(isPEM)\n")
        let other = "The private key other.key must belong to the first certificate of chain.pem."
        #expect(try await error("chain.pem", "other.key") == "error: \(other) (invalid-parameter)\n")
        // A server that ignores one of the two would serve everything without encryption.
        let half = "must be given together with"
        #expect(try await error("chain.pem", nil) == "error: tls-key \(half) tls-certificate (invalid-parameter)\n")
        #expect(try await error(nil, "chain.key") == "error: tls-certificate \(half) tls-key (invalid-parameter)\n")
    }
}
