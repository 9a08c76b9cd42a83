import Foundation
import PictureFixtures
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

/// Previews of pages, which the sender's device makes and every reader gets with the message.
@Suite("Link previews on a real server")
struct LinkPreviewTests {
    private static func html(_ head: String) -> StubServer.Reply {
        StubServer.Reply(
            status: 200, body: "<html><head>\(head)</head><body>…</body></html>",
            headers: ["Content-Type": "text/html; charset=utf-8"])
    }

    @Test("A reader gets the preview that the sender's device made, with a small picture")
    func roundTrip() async throws {
        let picture = try Array(Data(contentsOf: PictureFixture.directory.appending(path: "adobe-rgb.jpg")))
        let site = try await StubServer { path in
            switch path {
            case "/tour":
                Self.html(
                    """
                    <meta property="og:title" content="Tour de Lac &amp; Berg 🚲">
                    <meta property="og:description" content="Three\n days">
                    <meta property="og:site_name" content="جولات">
                    <meta property="og:image" content="pictures/lake.jpg">
                    """)
            case "/pictures/lake.jpg":
                StubServer.Reply(status: 200, body: picture, headers: ["Content-Type": "image/jpeg"])
            default: nil
            }
        }
        let server = try await RunningServer.start()
        let (alice, bob) = (try await Device.open(server, "alice"), try await Device.open(server, "bob"))
        let text = "Shall we? (\(site.address)/tour)"
        let preview = try #require(try await alice.linkPreview(forLinkIn: text))
        #expect(preview.link == "\(site.address)/tour")
        #expect(preview.title == "Tour de Lac & Berg 🚲")
        #expect(preview.description == "Three days")
        #expect(preview.site == "جولات")
        #expect(preview.picture?.starts(with: [0xFF, 0xD8, 0xFF]) == true)
        _ = try await alice.conversation(.direct("bob")).send(.text(text, preview: preview)).waitUntilSent()
        let arrived = try await eventually("bob has the message") {
            try await bob.conversation(.direct("alice")).history(from: .local).messages.first
        }
        #expect(arrived.content?.linkPreview == preview)
        #expect(arrived.text == text)
        await alice.close()
        await bob.close()
    }

    @Test("There is no preview of other files, of errors and of pages without a title, and a silent server is an error")
    func noPreview() async throws {
        let site = try await StubServer { path in
            switch path {
            case "/untitled": Self.html("<meta name=description content=d>")
            case "/json": StubServer.Reply(status: 200, body: "{}", headers: ["Content-Type": "application/json"])
            case "/gone":
                StubServer.Reply(status: 410, body: "<title>a</title>", headers: ["Content-Type": "text/html"])
            default: nil
            }
        }
        let server = try await RunningServer.start()
        let client = try await Device.disconnected(server, "alice")
        for path in ["untitled", "json", "gone", "nothing"] {
            #expect(try await client.linkPreview(forLinkIn: "\(site.address)/\(path)") == nil)
        }
        #expect(try await client.linkPreview(forLinkIn: "no link") == nil)
        let error = await #expect(throws: ChatError.self) {
            try await client.linkPreview(forLinkIn: "http://127.0.0.1:1/")
        }
        #expect(error?.code == .unreachable)
        await client.close()
    }

    @Test("A page without encryption can't make the device request another server, and the preview has no picture then")
    func otherServers() async throws {
        let requested = Mutex(0)
        let other = try await StubServer { _ in
            requested.withLock { $0 += 1 }
            return nil
        }
        let address = other.address
        let site = try await StubServer { _ in
            Self.html("<title>a</title><meta property=og:image content=\(address)/reboot>")
        }
        let server = try await RunningServer.start()
        let client = try await Device.disconnected(server, "alice")
        let preview = try #require(try await client.linkPreview(forLinkIn: site.address))
        #expect(preview.title == "a" && preview.picture == nil)
        #expect(requested.withLock { $0 } == 0)
        await client.close()
    }

    @Test("The server refuses a preview of a link that is not in the text, and banned words in a preview")
    func refusals() async throws {
        let server = try await RunningServer.start(RunningServer.withoutLimits)
        let settings = #"{"bannedWords":{"words":["durian"],"action":"reject"}}"#
        let changed = try await server.admin().call("PUT", "/v1/settings", settings)
        try #require(changed.status == 200, "\(changed)")
        func send(_ url: String, _ title: String) async throws -> Answer {
            let content = #"{"text":"see https://a.example/","linkPreview":{"url":"\#(url)","title":"\#(title)"}}"#
            return try await server.api("alice").call(
                "POST", "/v1/conversations/direct:bob/messages",
                #"{"id":"\#(UUID().uuidString.lowercased())","type":"text","content":\#(content)}"#)
        }
        #expect(try await send("https://a.example/", "fruit").status == 201)
        let other = try await send("https://bank.example/", "fruit")
        #expect(other.status == 422 && other.code == "invalid-parameter", "\(other)")
        let banned = try await send("https://a.example/", "a durian")
        #expect(banned.code == "content-rejected", "\(banned)")
    }
}
