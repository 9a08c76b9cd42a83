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
            let file = try #require(WebFile.all.first { $0.path == Self.path(of: name) })
            guard !name.hasSuffix(".js") else { continue }
            let served = String(decoding: file.bytes, as: UTF8.self)
            let source = name.hasSuffix(".html") ? served.replacing("v/\(WebFile.version)/", with: "") : served
            #expect(Array(source.utf8) == Array(content), "\(name)")
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

    private static let pages = ["/", "/admin"]

    /// The path of a file that has the current version.
    private static func versioned(_ path: String) -> String { "/v/\(WebFile.version)\(path)" }

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

    @Test func `The chat page has at most 150 KB in compressed form, with at most 100 KB of the SDK`() async throws {
        let files = WebFile.all.filter { !$0.isForAdministrators && !$0.path.hasSuffix(".d.ts") }.map(\.path)
        let sizeOfSDK = try await compressedSize(of: files.filter { $0.hasPrefix("/sdk/") })
        let sizeOfPage = try await compressedSize(of: files.filter { !$0.hasPrefix("/sdk/") })
        #expect(sizeOfPage + sizeOfSDK <= 150_000 && sizeOfSDK <= 100_000, "\(sizeOfPage) and \(sizeOfSDK) bytes")
    }

    @Test func `The modules that show stored conversations have at most 57 KB in compressed form`() async throws {
        let modules = try Self.modules(loadedBefore: "/sdk/scrollback.js")
        #expect(modules.contains("/sdk/store/database.js") && !modules.contains("/sdk/client/remote.js"))
        let size = try await compressedSize(of: modules)
        #expect(size <= 57_000, "\(size) bytes in \(modules.count) files")
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

    @Test func `Files of the current version are immutable, and files of another version can change`() async throws {
        var api = fixture.alice
        api.token = nil
        for file in WebFile.all where !Self.pages.contains(file.path) {
            let current = try await api.call("GET", Self.versioned(file.path))
            let other = try await api.call("GET", "/v/another\(file.path)")
            let plain = try await api.call("GET", file.path)
            #expect(current.headers["cache-control"] == "public, max-age=31536000, immutable", "\(file.path)")
            #expect(other.headers["cache-control"] == "no-cache" && plain.headers["cache-control"] == "no-cache")
            for answer in [current, other] {
                #expect(answer.status == 200 && answer.bytes == plain.bytes, "\(file.path)")
                for name in ["content-type", "etag", "vary", "x-content-type-options"] {
                    #expect(answer.headers[name] == plain.headers[name], "\(file.path): \(name)")
                }
            }
        }
    }

    @Test func `A browser that has a file of another version gets 304 unless the file changed`() async throws {
        let path = "/v/another\(Self.script)"
        let tag = try #require(try await fixture.alice.call("GET", path).headers["etag"])
        let known = try await fixture.alice.call("GET", path, headers: ["If-None-Match": tag])
        #expect(known.status == 304 && known.headers["cache-control"] == "no-cache", "\(known)")
        let changed = try await fixture.alice.call("GET", path, headers: ["If-None-Match": #""x""#])
        #expect(changed.status == 200, "\(changed)")
    }

    @Test(arguments: pages) func `A page loads its files, and what they import, only from the current version`(
        _ page: String
    ) async throws {
        let folder = Self.versioned("/")
        var loaded: Set<String> = []
        var rest = [page]
        while let path = rest.popLast() {
            guard loaded.insert(path).inserted else { continue }
            let answer = try await fixture.alice.call("GET", path)
            #expect(answer.status == 200 && (path == page || path.hasPrefix(folder)), "\(path)")
            let base = try #require(URL(string: "http://localhost\(path)"))
            for match in answer.text.matches(of: /(?:\b(?:from |import |import\()| (?:href|src)=|\burl\()"([^"]+)"/) {
                rest.append(try #require(URL(string: String(match.1), relativeTo: base)).absoluteURL.path)
            }
        }
        // These are all files of the page, except for one that only has types.
        let own = WebFile.all.map(\.path).filter { $0.hasPrefix(page == "/" ? "/chat/" : "/admin/") }
            .filter { $0 != "/admin/types.js" }
        #expect(Set(own.map(Self.versioned)).isSubset(of: loaded))
        #expect(loaded.contains(Self.versioned("/sdk/client/remote.js")) == (page == "/"))
    }

    @Test func `Each change of a path or of a file results in another version`() {
        let files: [(path: String, bytes: [UInt8])] = [("/a.js", [1, 2]), ("/b.js", [3])]
        var versions: Set = [WebFile.digest(of: files)]
        versions.insert(WebFile.digest(of: [("/a.js", [1, 2]), ("/b.js", [4])]))
        versions.insert(WebFile.digest(of: [("/a.js", [1]), ("/b.js", [2, 3])]))
        versions.insert(WebFile.digest(of: [("/a.js", [1, 2]), ("/c.js", [3])]))
        versions.insert(WebFile.digest(of: [("/a.js", [1, 2])]))
        #expect(versions.count == 5 && versions.allSatisfy { $0.contains(/^[A-Za-z0-9_-]{16}$/) }, "\(versions)")
        #expect(WebFile.digest(of: files) == WebFile.digest(of: files))
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
        for path in [Self.versioned(Self.script), "/v/another\(Self.script)"] {
            #expect(try await fixture.alice.call("HEAD", path).status == 200, "\(path)")
            let put = try await fixture.alice.call("PUT", path)
            #expect(put.status == 405 && put.headers["allow"] == "GET, HEAD", "\(put)")
        }
        let unknown = ["/sdk", "/sdk/", "/sdk/nothing.js", "/sdk/../openapi.json", "/sdk/%2e%2e/openapi.json"]
        let pages = ["/", "/admin", "/chat/demo.json", "/sdk/nothing.js", "/another\(Self.script)"]
        for path in unknown + pages.map(Self.versioned) + ["/v", "/v/", "/v\(Self.script)"] {
            #expect(try await fixture.alice.call("PUT", path).status == 404, "\(path)")
            #expect(try await fixture.alice.call("GET", path).status == 404, "\(path)")
        }
    }
}
