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

    @Test func `The program contains every file of the SDK and no other`() throws {
        let files = try #require(FileManager.default.enumerator(atPath: Self.folder.appending(path: "sdk").path))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".js") && !$0.hasSuffix("_test.js") }
        #expect(
            WebFile.all.map(\.path) == files.map { "/sdk/\($0)" }.sorted(), "Run scripts/embed-web-files.py.")
        for file in WebFile.all {
            let content = try Data(contentsOf: Self.folder.appending(path: String(file.path.dropFirst())))
            #expect(file.bytes == Array(content), "\(file.path)")
        }
    }

    @Test func `Every file of the SDK is served as a script without a token`() async throws {
        var api = fixture.alice
        api.token = nil
        for file in WebFile.all {
            let answer = try await api.call("GET", file.path)
            #expect(answer.status == 200 && answer.bytes == file.bytes, "\(file.path)")
            #expect(answer.headers["content-type"] == "text/javascript; charset=utf-8")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["cache-control"] == "no-cache")
            #expect(answer.headers["content-encoding"] == nil)
        }
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
