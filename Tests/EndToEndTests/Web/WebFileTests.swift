import CZlib
import Crypto
import Foundation
import ScrollbackModel
import ScrollbackServer
import Testing

/// The files of the folder `Web`, which the server offers to browsers.
@Suite(.serverFixture) struct WebFileTests {
    private static let folder = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        .appending(path: "Web")
    private static let script = "/sdk/scrollback.js"
    let fixture: ServerFixture

    init() throws {
        fixture = try ServerFixture.shared
    }

    @Test func `The files are made from the current sources`() throws {
        let paths = try ["admin", "chat", "sdk"].flatMap { folder in
            try #require(FileManager.default.enumerator(atPath: Self.folder.appending(path: folder).path))
                .compactMap { $0 as? String }.filter { $0.contains(/\.(css|html|js)$/) && !$0.hasSuffix("_test.js") }
                .map { "\(folder)/\($0)" }
        }
        let lines = try paths.sorted().map { "\(try Self.digest(of: $0)) \($0)\n" }
        let recorded = try String(contentsOf: Self.folder.appending(path: "bundle/sources.sha256"), encoding: .utf8)
        #expect(recorded == Self.digest(Data(lines.joined().utf8)) + "\n", "Run scripts/bundle-web.py.")
    }

    private static func digest(of path: String) throws -> String {
        digest(try Data(contentsOf: folder.appending(path: path)))
    }

    private static func digest(_ data: Data) -> String {
        SHA256.hash(data: data).map { String(format: "%02x", $0) }.joined()
    }

    @Test func `The program contains every file of the bundle, and no other`() throws {
        let bundle = Self.folder.appending(path: "bundle")
        let names = try #require(FileManager.default.enumerator(atPath: bundle.path)).compactMap { $0 as? String }
            .filter { Self.types[URL(filePath: $0).pathExtension] != nil }.map { "bundle/\($0)" }
        let all = names + ["admin/icon.svg", "chat/icon.svg", Self.declarations]
        #expect(Set(WebFile.all.map(\.path)) == Set(all.map(Self.path)) && WebFile.all.count == all.count)
        for name in all {
            let file = try #require(WebFile.all.first { $0.path == Self.path(of: name) })
            #expect(try Data(file.bytes) == Data(contentsOf: Self.folder.appending(path: name)), "\(name)")
        }
    }

    private static let types = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "ts": "application/typescript; charset=utf-8",
    ]

    private static let pages = ["/", "/admin"]

    /// The types of the SDK.
    private static let declarations = "declarations/scrollback.d.ts"

    private static func path(of name: String) -> String {
        switch name {
        case declarations: "/sdk/scrollback.d.ts"
        case "bundle/admin/index.html": "/admin"
        case "bundle/chat/index.html": "/"
        default: name.hasPrefix("bundle/") ? String(name.dropFirst("bundle".count)) : "/\(name)"
        }
    }

    @Test func `The SDK has at most 60 KB in compressed form, and 36 KB until it shows stored conversations`()
        async throws
    {
        let first = try Self.files(loadedWith: Self.script, andLater: false)
        let all = try Self.files(loadedWith: Self.script, andLater: true)
        let (firstSize, size) = (try await compressedSize(of: first), try await compressedSize(of: all))
        #expect(first.count < all.count && firstSize <= 36_000 && size <= 60_000, "\(firstSize) and \(size) bytes")
    }

    @Test func `The chat page has at most 100 KB in compressed form, with the SDK`() async throws {
        let size = try await compressedSize(of: try Self.files(loadedWith: "/", andLater: true))
        #expect(size <= 100_000, "\(size) bytes")
    }

    private func compressedSize(of paths: some Sequence<String>) async throws -> Int {
        var size = 0
        for path in paths {
            size += try await fixture.alice.call("GET", path, headers: ["Accept-Encoding": "gzip"]).bytes.count
        }
        return size
    }

    /// The files that a browser loads with a file: those that it links to or imports, those that they import, and
    /// itself.
    ///
    /// - Parameter later: Whether to include what a call of `import()` loads.
    private static func files(loadedWith path: String, andLater later: Bool) throws -> Set<String> {
        var files: Set<String> = []
        var rest = [path]
        while let path = rest.popLast() {
            guard files.insert(path).inserted else { continue }
            let file = try #require(WebFile.all.first { $0.path == path }, "\(path) is not served.")
            let base = try #require(URL(string: "http://localhost\(path)"))
            let text = String(decoding: file.bytes, as: UTF8.self)
            let link = path.hasSuffix(".js") ? /\b(?:from|import)"(\.[^"]+)"/ : /\b(?:href|src)="([^"]+)"/
            var links = text.matches(of: link).map { String($0.1) }
            if later { links += text.matches(of: /\bimport\("(\.[^"]+)"\)/).map { String($0.1) } }
            for link in links { rest.append(try #require(URL(string: link, relativeTo: base)).absoluteURL.path) }
        }
        return files
    }

    @Test func `Every file is served with its media type and without a token`() async throws {
        var api = fixture.alice
        api.token = nil
        for file in WebFile.all {
            let answer = try await api.call("GET", file.path)
            let type = URL(filePath: file.path).pathExtension
            #expect(answer.status == 200 && answer.bytes == file.bytes, "\(file.path)")
            #expect(answer.headers["content-type"] == Self.types[type.isEmpty ? "html" : type], "\(file.path)")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["content-encoding"] == nil)
        }
    }

    /// The paths that do not change, because browsers, apps and service workers know them.
    private static let fixed =
        pages + [
            "/admin/icon.svg", "/chat/embed.js", "/chat/icon.svg", "/sdk/push-worker.js", script,
            "/sdk/scrollback.d.ts",
        ]

    @Test func `Browsers keep the files that have a hash in their names, and ask for all others`() async throws {
        for file in WebFile.all {
            let control = try await fixture.alice.call("GET", file.path).headers["cache-control"]
            let isFixed = Self.fixed.contains(file.path)
            #expect(control == (isFixed ? "no-cache" : "public, max-age=31536000, immutable"), "\(file.path)")
            #expect(file.hasHashInName != isFixed)
        }
    }

    @Test(arguments: pages) func `A page loads all of its files`(_ page: String) throws {
        let loaded = try Self.files(loadedWith: page, andLater: true)
        // `embed.js` and `push-worker.js` are for other pages, and the declarations are for compilers.
        let other = Set(["/chat/embed.js", "/sdk/push-worker.js", Self.script, "/sdk/scrollback.d.ts"])
        let all = WebFile.all.filter { $0.isForAdministrators == (page == "/admin") }.map(\.path)
        #expect(loaded == Set(all).subtracting(other))
    }

    @Test func `A page names each module that its script imports, so that browsers load all of them at once`() throws {
        let page = try #require(WebFile.all.first { $0.path == "/" })
        let named = String(decoding: page.bytes, as: UTF8.self).matches(of: /(?:src|href)="([^"]+\.js)"/)
        let loaded = try Self.files(loadedWith: "/", andLater: false).filter { $0.hasSuffix(".js") }
        #expect(loaded == Set(named.map { "/\($0.1)" }) && loaded.contains { $0.contains("/app-") })
    }

    @Test func `The chat page runs only scripts of the server, and only allowed origins can embed it`() async throws {
        let own = try #require(try await fixture.alice.call("GET", "/").headers["content-security-policy"])
        let rules = own.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
        for name in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'self'"] {
            #expect(rules.contains(name), "\(own)")
        }
        #expect(!own.contains("unsafe"))
        let app = "https://app.example.org"
        let server = try await RunningServer.start(["--allow-origin", app])
        let page = try await server.api("alice").call("GET", "/")
        #expect(page.headers["content-security-policy"]?.contains("frame-ancestors 'self' \(app);") == true, "\(page)")
        // Another value of the setting applies although the file is the same.
        let tag = try #require(page.headers["etag"])
        let known = try await fixture.alice.call("GET", "/", headers: ["If-None-Match": tag])
        #expect(known.status == 304 && known.headers["content-security-policy"] == own)
    }

    @Test func `The admin page runs and loads only files of the server, and can't be framed`() async throws {
        let answer = try await fixture.alice.call("GET", "/admin")
        let policy = try #require(answer.headers["content-security-policy"]).split(separator: "; ")
        #expect(policy.first == "default-src 'none'")
        for directive in ["script-src 'self'", "connect-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"] {
            #expect(policy.contains { $0 == directive }, "\(policy)")
        }
        #expect(!policy.contains { $0.contains("unsafe") || $0.contains("http") }, "\(policy)")
        #expect(answer.headers["referrer-policy"] == "no-referrer")
        #expect(answer.headers["cross-origin-opener-policy"] == "same-origin")
    }

    @Test func `A client that accepts gzip gets compressed files`() async throws {
        let file = try #require(WebFile.all.first { $0.path == Self.script })
        for (accepted, isCompressed) in [("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("deflate", false)] {
            let headers = ["Accept-Encoding": accepted]
            let answer = try await fixture.alice.call("GET", Self.script, headers: headers)
            #expect(answer.headers["content-encoding"] == (isCompressed ? "gzip" : nil), "\(accepted)")
            #expect(answer.headers["vary"] == "Accept-Encoding")
            let content = isCompressed ? gunzip(answer.bytes, count: file.bytes.count) : answer.bytes
            #expect(content == file.bytes, "\(accepted)")
        }
    }

    private func gunzip(_ bytes: [UInt8], count: Int) -> [UInt8] {
        var input = bytes
        return [UInt8](unsafeUninitializedCapacity: count) { output, written in
            input.withUnsafeMutableBufferPointer { input in
                var state = z_stream()
                state.next_in = input.baseAddress
                state.avail_in = uInt(input.count)
                state.next_out = output.baseAddress
                state.avail_out = uInt(count)
                inflateInit2_(&state, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
                #expect(inflate(&state, Z_FINISH) == Z_STREAM_END)
                inflateEnd(&state)
                written = count - Int(state.avail_out)
            }
        }
    }

    @Test func `A browser that has a file gets 304, separately for each encoding`() async throws {
        let api = fixture.alice
        let plain = try #require(try await api.call("GET", Self.script).headers["etag"])
        let gzip = ["Accept-Encoding": "gzip"]
        let compressed = try #require(try await api.call("GET", Self.script, headers: gzip).headers["etag"])
        #expect(plain != compressed)
        let known = try await api.call("GET", Self.script, headers: ["If-None-Match": #""x", W/\#(plain)"#])
        #expect(known.status == 304 && known.bytes.isEmpty && known.headers["etag"] == plain, "\(known)")
        let other = try await api.call("GET", Self.script, headers: ["If-None-Match": compressed])
        #expect(other.status == 200, "\(other)")
    }

    @Test func `Other methods and other paths are refused`() async throws {
        let head = try await fixture.alice.call("HEAD", Self.script)
        #expect(head.status == 200 && head.bytes.isEmpty && head.headers["etag"] != nil, "\(head)")
        let put = try await fixture.alice.call("PUT", Self.script)
        #expect(put.status == 405 && put.headers["allow"] == "GET, HEAD", "\(put)")
        let unknown = ["/sdk", "/sdk/", "/sdk/nothing.js", "/sdk/../openapi.json", "/sdk/%2e%2e/openapi.json"]
        for path in unknown + ["/chunks", "/chunks/remote.js", "/chunks/remote-AAAAAAAA.js", "/sdk/client/remote.js"] {
            #expect(try await fixture.alice.call("PUT", path).status == 404, "\(path)")
            #expect(try await fixture.alice.call("GET", path).status == 404, "\(path)")
        }
    }
}
