import CZlib
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

    @Test func `The program contains every file of the SDK and the pages, and no other`() throws {
        let folders = ["admin", "chat", "sdk"]
        let names =
            try folders.flatMap { folder in
                try #require(FileManager.default.enumerator(atPath: Self.folder.appending(path: folder).path))
                    .compactMap { $0 as? String }.filter { !$0.hasSuffix("_test.js") }
                    .filter { Self.types[URL(filePath: $0).pathExtension] != nil }.map { "\(folder)/\($0)" }
            } + [Self.declarations]
        #expect(
            Set(WebFile.all.map(\.path)) == Set(names.map(Self.path)) && WebFile.all.count == names.count,
            "Run scripts/embed-web-files.py.")
        for name in names {
            let content = try Data(contentsOf: Self.folder.appending(path: name))
            let file = WebFile.all.first { $0.path == Self.path(of: name) }
            guard !name.hasSuffix(".js") else { continue }
            #expect(file?.bytes == Array(content), "\(name)")
        }
    }

    @Test func `Scripts are served without comments and indentation, and each line keeps its number`() throws {
        for file in WebFile.all where file.path.hasSuffix(".js") {
            let source = try String(contentsOf: Self.folder.appending(path: file.path), encoding: .utf8)
            let served = String(decoding: file.bytes, as: UTF8.self)
            let lines = zip(
                source.split(separator: "\n", omittingEmptySubsequences: false),
                served.split(separator: "\n", omittingEmptySubsequences: false))
            #expect(served.count { $0 == "\n" } == source.count { $0 == "\n" }, "\(file.path)")
            for (line, rest) in lines {
                #expect(rest.isEmpty || line.hasSuffix(rest), "\(file.path): \(line)")
                #expect(!rest.contains(/^( |\/\/|\/\*)/), "\(file.path): \(line)")
            }
            // What remains is the code: the source without its comments, which are never inside of a line.
            let code = source.replacing(/(?m)^ *\/\/.*$/, with: "").replacing(/(?ms)^ *\/\*.*?\*\//, with: "")
            #expect(served.filter { !$0.isWhitespace } == code.filter { !$0.isWhitespace }, "\(file.path)")
        }
    }

    private static let types = [
        "css": "text/css; charset=utf-8", "html": "text/html; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "ts": "application/typescript; charset=utf-8",
    ]

    /// The types of the SDK.
    private static let declarations = "declarations/scrollback.d.ts"

    private static func path(of name: String) -> String {
        switch name {
        case declarations: "/sdk/scrollback.d.ts"
        case "admin/index.html": "/admin"
        case "chat/index.html": "/"
        default: "/\(name)"
        }
    }

    @Test func `The chat page has at most 150 KB in compressed form, with at most 97.5 KB of the SDK`() async throws {
        let files = WebFile.all.filter { !$0.isForAdministrators && !$0.path.hasSuffix(".d.ts") }.map(\.path)
        let sizeOfSDK = try await compressedSize(of: files.filter { $0.hasPrefix("/sdk/") })
        let sizeOfPage = try await compressedSize(of: files.filter { !$0.hasPrefix("/sdk/") })
        #expect(sizeOfPage + sizeOfSDK <= 150_000 && sizeOfSDK <= 97_500, "\(sizeOfPage) and \(sizeOfSDK) bytes")
    }

    @Test func `The modules that show stored conversations have at most 55 KB in compressed form`() async throws {
        let modules = try Self.modules(loadedBefore: "/sdk/scrollback.js")
        #expect(modules.contains("/sdk/store/database.js") && !modules.contains("/sdk/client/remote.js"))
        let size = try await compressedSize(of: modules)
        #expect(size <= 55_000, "\(size) bytes in \(modules.count) files")
    }

    private func compressedSize(of paths: some Sequence<String>) async throws -> Int {
        var size = 0
        for path in paths {
            size += try await fixture.alice.call("GET", path, headers: ["Accept-Encoding": "gzip"]).bytes.count
        }
        return size
    }

    /// The modules that a browser loads before it runs a module: those that it imports, those that they import, and
    /// itself. A call of `import()` loads a module later.
    private static func modules(loadedBefore path: String) throws -> Set<String> {
        var modules: Set<String> = []
        var rest = [path]
        while let path = rest.popLast() {
            guard modules.insert(path).inserted else { continue }
            let file = try #require(WebFile.all.first { $0.path == path }, "\(path) is not served.")
            let base = try #require(URL(string: "http://localhost\(path)"))
            for match in String(decoding: file.bytes, as: UTF8.self).matches(of: /\bfrom "(\..*)";\n/) {
                rest.append(try #require(URL(string: String(match.1), relativeTo: base)).absoluteURL.path)
            }
        }
        return modules
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
            #expect(answer.headers["cache-control"] == "no-cache")
            #expect(answer.headers["content-encoding"] == nil)
        }
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
        for path in ["/sdk", "/sdk/", "/sdk/nothing.js", "/sdk/../openapi.json", "/sdk/%2e%2e/openapi.json"] {
            #expect(try await fixture.alice.call("GET", path).status == 404, "\(path)")
        }
    }
}
