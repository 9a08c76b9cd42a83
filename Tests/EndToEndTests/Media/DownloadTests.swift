import ContractRows
import Foundation
import PictureFixtures
import TestSupport
import Testing

@Suite("Downloads")
struct DownloadTests {
    private let fixture: MediaServer

    init() async throws {
        fixture = try await MediaServer()
    }

    @Test("A download has the file's type and hash, and headers that keep a browser from running it", .rows(109))
    func headers() async throws {
        let (media, _) = try await fixture.send(SampleFile.png(4, 3), "image", name: "sm%C3%B6r%22g%C3%A5s.png")
        let answer = try await fixture.file(media, by: fixture.bob)
        #expect(answer.status == 200 && answer.bytes == SampleFile.png(4, 3))
        #expect(answer.headers["content-type"] == "image/png" && answer.headers["accept-ranges"] == "bytes")
        #expect(answer.headers["x-content-type-options"] == "nosniff")
        #expect(answer.headers["content-security-policy"] == "sandbox; default-src 'none'")
        #expect(answer.headers["cache-control"]?.contains("private") == true)
        #expect(
            answer.headers["content-disposition"]
                == #"inline; filename="sm_r_g_s.png"; filename*=UTF-8''sm%C3%B6r%22g%C3%A5s.png"#)
        let tag = try #require(answer.headers["etag"])
        #expect(tag.count == 66)
        let head = try await fixture.file(media, by: fixture.bob, method: "HEAD")
        #expect(head.status == 200 && head.bytes == [] && head.headers["content-length"] == String(answer.bytes.count))
        #expect(try await fixture.file(media, by: fixture.bob, ["If-None-Match": tag]).status == 304)
        #expect(try await fixture.file(media, by: fixture.bob, ["If-None-Match": "\"x\", W/\(tag)"]).status == 304)
        #expect(try await fixture.file(media, by: fixture.bob, ["If-None-Match": "\"x\""]).status == 200)
    }

    @Test("Files that a browser could run are served as attachments, regardless of their name")
    func attachments() async throws {
        for (bytes, type) in [
            (SampleFile.html, "text/html"), (SampleFile.svg, "image/svg+xml"), (SampleFile.text, "text/plain"),
        ] {
            let (media, _) = try await fixture.send(bytes, "file", name: "photo.png")
            let answer = try await fixture.file(media, by: fixture.bob)
            #expect(answer.headers["content-disposition"] == #"attachment; filename="photo.png""#)
            #expect(answer.headers["content-type"] == type)
        }
    }

    @Test("Range requests return the requested bytes")
    func ranges() async throws {
        let file = SampleFile.noise(1_000_000)
        let (media, _) = try await fixture.send(file)
        let tag = try #require(try await fixture.file(media, by: fixture.bob, method: "HEAD").headers["etag"])
        let cases: [(String, Range<Int>)] = [
            ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=999990-", 999_990..<1_000_000),
            ("bytes=-5", 999_995..<1_000_000), ("bytes=0-99999999", 0..<1_000_000), ("bytes=-2000000", 0..<1_000_000),
            ("bytes=300000-700000", 300_000..<700_001),
        ]
        for (range, places) in cases {
            let answer = try await fixture.file(media, by: fixture.bob, ["Range": range, "If-Range": tag])
            #expect(answer.status == 206 && answer.bytes == Array(file[places]), "\(range)")
            #expect(answer.headers["content-range"] == "bytes \(places.lowerBound)-\(places.upperBound - 1)/1000000")
        }
        for range in ["bytes=1000000-", "bytes=-0"] {
            let answer = try await fixture.file(media, by: fixture.bob, ["Range": range])
            #expect(answer.status == 416 && answer.headers["content-range"] == "bytes */1000000", "\(range)")
        }
        for range in ["bytes=5-1", "bytes=a-b", "lines=1-2", "bytes=0-1,5-6", "bytes=-"] {
            #expect(try await fixture.file(media, by: fixture.bob, ["Range": range]).status == 200, "\(range)")
        }
        let other = try await fixture.file(media, by: fixture.bob, ["Range": "bytes=0-1", "If-Range": "\"other\""])
        #expect(other.status == 200 && other.bytes.count == 1_000_000)
    }

    @Test("Ranges apply to GET and not to HEAD, for small and large files alike")
    func rangesApplyToGetOnly() async throws {
        for file in [SampleFile.noise(1000), SampleFile.noise(1_000_000)] {
            let (media, _) = try await fixture.send(file)
            let asked = try await fixture.file(media, by: fixture.bob, ["Range": "bytes=10-19"], method: "HEAD")
            #expect(asked.status == 200 && asked.headers["content-length"] == String(file.count))
            for range in [10...19, 500...999, 0...file.count - 1] {
                let got = try await fixture.file(
                    media, by: fixture.bob, ["Range": "bytes=\(range.lowerBound)-\(range.upperBound)"])
                #expect(got.status == 206 && got.bytes == Array(file[range]))
            }
        }
    }

    @Test("Access to a file follows access to its message, except for the uploader and administrators")
    func access() async throws {
        let (media, message) = try await fixture.send(SampleFile.text)
        func statuses() async throws -> [Int] {
            var all: [Int] = []
            for api in [fixture.alice, fixture.bob, fixture.carol, fixture.admin] {
                all.append(try await fixture.file(media, by: api).status)
            }
            return all
        }
        #expect(try await statuses() == [200, 200, 404, 200])
        _ = try await fixture.admin.call("DELETE", "/v1/conversations/group:crew/members/bob")
        #expect(try await statuses() == [200, 200, 404, 200])
        // Bob can't see messages that are sent from now on.
        let (later, _) = try await fixture.send(SampleFile.mp3)
        #expect(try await fixture.file(later, by: fixture.bob).status == 404)
        _ = try await fixture.alice.call("DELETE", "/v1/conversations/group:crew/messages/\(message)")
        #expect(try await statuses() == [200, 404, 404, 200])
        let unknown = try await fixture.file("00000000-0000-4000-8000-000000000000", by: fixture.alice)
        let hidden = try await fixture.file(media, by: fixture.carol)
        #expect(unknown.status == 404 && unknown.text == hidden.text && hidden.code == "unknown-media")
        #expect(try await fixture.file("x", by: fixture.alice).status == 422)
    }

    @Test("A message must describe its file correctly, and its sender must be able to read the file")
    func messageMustDescribeItsFile() async throws {
        let uploaded = try await fixture.upload(SampleFile.png(4, 3), "image")
        let media = try #require(uploaded.json.string("media"))
        #expect(uploaded.json.int("width") == 4 && uploaded.json.int("height") == 3)
        func send(_ type: String, _ content: String, by api: API) async throws -> Answer {
            try await api.call(
                "POST", "/v1/conversations/group:crew/messages",
                #"{"id":"\#(UUID().uuidString)","type":"\#(type)","content":\#(content)}"#)
        }
        #expect(try await send("image", #"{"media":"\#(media)"}"#, by: fixture.bob).code == "unknown-media")
        #expect(
            try await send("voice", #"{"media":"\#(media)"}"#, by: fixture.alice).json.string("parameter") == "type")
        #expect(
            try await send("image", #"{"media":"\#(media)","size":1}"#, by: fixture.alice).json.string("parameter")
                == "size")
        #expect(try await send("image", #"{"media":"\#(media)"}"#, by: fixture.alice).status == 201)
        #expect(try await send("file", #"{"media":"\#(media)"}"#, by: fixture.bob).status == 201)
    }

    @Test("A link gives access without a token, to one file and for a limited time")
    func links() async throws {
        let (media, message) = try await fixture.send(SampleFile.png(4, 3), "image")
        let (other, _) = try await fixture.send(SampleFile.text)
        let anonymous = API(server: fixture.server.url)
        func link(_ body: String?, by api: API) async throws -> Answer {
            try await api.call("POST", "/v1/media/\(media)/link", body)
        }
        let made = try await link(nil, by: fixture.bob)
        let url = try #require(made.json.string("url"), "\(made)")
        #expect(made.json.string("expiresAt") != nil)
        let got = try await anonymous.call("GET", url)
        #expect(got.status == 200 && got.bytes == SampleFile.png(4, 3))
        let token = try #require(url.split(separator: "=").last)
        #expect(try await anonymous.call("GET", "/v1/media/\(other)?token=\(token)").code == "invalid-token")
        #expect(try await anonymous.call("GET", "/v1/media/\(media)/thumbnail?token=\(token)").code == "invalid-token")
        #expect(try await anonymous.call("GET", "/v1/media/\(media)?token=\(token.dropLast(3))abc").status == 401)
        // The link's token gives no other access, and other tokens are not accepted in links.
        let posing = API(server: fixture.server.url, token: String(token))
        #expect(try await posing.call("GET", "/v1/me").code == "invalid-token")
        #expect(
            try await anonymous.call("GET", "/v1/media/\(media)?token=\(fixture.alice.token ?? "")").code
                == "invalid-token")
        #expect(try await link(#"{"expiresIn":0}"#, by: fixture.bob).json.string("parameter") == "expiresIn")
        #expect(try await link(#"{"expiresIn":604801}"#, by: fixture.bob).status == 422)
        #expect(try await link(nil, by: fixture.carol).status == 404)
        #expect(try await link(#"{"thumbnail":true}"#, by: fixture.bob).status == 404)
        let short = try #require(try await link(#"{"expiresIn":1}"#, by: fixture.bob).json.string("url"))
        try await eventually("the link expires") {
            try await anonymous.call("GET", short).code == "token-expired" ? true : nil
        }
        // The link has the access of the user who created it.
        _ = try await fixture.alice.call("DELETE", "/v1/conversations/group:crew/messages/\(message)")
        #expect(try await anonymous.call("GET", url).status == 404)
    }

    @Test("The owner uploads a thumbnail, and users who can read the file can download and link to it")
    func thumbnails() async throws {
        let (media, _) = try await fixture.send(SampleFile.png(400, 300), "image")
        let path = "/v1/media/\(media)/thumbnail"
        #expect(try await fixture.bob.call("GET", path).status == 404)
        #expect(try await fixture.bob.call("PUT", path, bytes: SampleFile.jpeg, type: "image/jpeg").status == 403)
        #expect(try await fixture.carol.call("PUT", path, bytes: SampleFile.jpeg, type: "image/jpeg").status == 404)
        #expect(try await fixture.alice.call("PUT", path, bytes: SampleFile.html, type: "image/jpeg").status == 422)
        let large = try await fixture.alice.call("PUT", path, bytes: SampleFile.gif(bytes: 65_537), type: "image/gif")
        #expect(large.status == 413 && large.json.int("limit") == 65_536)
        let put = try await fixture.alice.call("PUT", path, bytes: SampleFile.png(40, 30), type: "image/png")
        #expect(put.status == 200 && put.json.int("width") == 40 && put.json.int("height") == 30)
        #expect(put.json.int("size") == SampleFile.png(40, 30).count)
        let got = try await fixture.bob.call("GET", path)
        #expect(got.bytes == SampleFile.png(40, 30) && got.headers["content-type"] == "image/png")
        let link = try await fixture.bob.call("POST", "/v1/media/\(media)/link", #"{"thumbnail":true}"#)
        let url = try #require(link.json.string("url"))
        #expect(try await API(server: fixture.server.url).call("GET", url).bytes == got.bytes)
    }
}
