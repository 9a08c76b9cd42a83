import CZlib
import Foundation
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

    @Test func `The program contains every file of the SDK and the chat page and no other`() throws {
        let files = try ["chat", "sdk"].flatMap { top in
            try #require(FileManager.default.enumerator(atPath: Self.folder.appending(path: top).path))
                .compactMap { $0 as? String }.filter { name in
                    [".css", ".html", ".js", ".svg"].contains { name.hasSuffix($0) } && !name.hasSuffix("_test.js")
                }
                .map { $0 == "index.html" ? "/" : "/\(top)/\($0)" }
        }
        #expect(WebFile.all.map(\.path) == files.sorted(), "Run scripts/embed-web-files.py.")
        for file in WebFile.all {
            let path = file.path == "/" ? "chat/index.html" : String(file.path.dropFirst())
            let content = try Data(contentsOf: Self.folder.appending(path: path))
            #expect(file.bytes == Array(content), "\(file.path)")
        }
    }

    @Test func `The chat page has at most 150 KB in compressed form`() async throws {
        var size = 0
        for file in WebFile.all where !file.path.hasPrefix("/sdk/") {
            size += try await fixture.alice.call("GET", file.path, headers: ["Accept-Encoding": "gzip"]).bytes.count
        }
        #expect(size <= 150_000)
    }

    @Test func `Every file is served with its type and without a token`() async throws {
        var api = fixture.alice
        api.token = nil
        for file in WebFile.all {
            let answer = try await api.call("GET", file.path)
            #expect(answer.status == 200 && answer.bytes == file.bytes, "\(file.path)")
            #expect(answer.headers["content-type"] == Self.mediaType(of: file.path), "\(file.path)")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["cache-control"] == "no-cache")
            #expect(answer.headers["content-encoding"] == nil)
        }
    }

    private static func mediaType(of path: String) -> String {
        switch URL(filePath: path).pathExtension {
        case "css": "text/css; charset=utf-8"
        case "svg": "image/svg+xml"
        case "js": "text/javascript; charset=utf-8"
        default: "text/html; charset=utf-8"
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
