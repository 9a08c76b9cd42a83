import Foundation
import ScrollbackModel
import Testing

@Suite("Link previews")
struct LinkPreviewTests {
    private static let link = "https://example.org/tours"
    private static let text = "Look: \(link)!"
    private static let jpeg = Data([0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3])

    @Test("A text has its preview, with the parts that were given")
    func parts() throws {
        let full = LinkPreview(
            link: Self.link, title: "Tours 🚲", description: "By bicycle", site: "مثال", picture: Self.jpeg)
        for preview in [full, LinkPreview(link: Self.link, title: "Tours")] {
            let content = try MessageContent.text(Self.text, preview: preview)
            #expect(content.text == Self.text)
            #expect(content.linkPreview == preview)
            #expect(preview.url?.host() == "example.org")
            #expect(try MessageContent(type: .text, json: RawJSON(content.json.text)) == content)
        }
        #expect(try MessageContent.text(Self.text, preview: nil) == .text(Self.text))
        #expect(MessageContent.text(Self.text).linkPreview == nil)
    }

    @Test(
        "A preview that breaks a rule is refused with the name of the member",
        arguments: [
            ("linkPreview", #"{"url":"https://example.org/other","title":"a"}"#),
            ("linkPreview", #"{"url":"javascript:alert(1)","title":"a"}"#),
            ("linkPreview", #"{"title":"a"}"#),
            ("linkPreview", #"{"url":"https://example.org/tours"}"#),
            ("linkPreview", "null"),
            ("linkPreview", #""https://example.org/tours""#),
            ("title", #"{"url":"https://example.org/tours","title":""}"#),
            ("title", #"{"url":"https://example.org/tours","title":"a\u202eb"}"#),
            ("title", #"{"url":"https://example.org/tours","title":"\#(String(repeating: "é", count: 129))"}"#),
            ("description", #"{"url":"https://example.org/tours","title":"a","description":"b\nc"}"#),
            ("site", #"{"url":"https://example.org/tours","title":"a","site":""}"#),
            ("picture", #"{"url":"https://example.org/tours","title":"a","picture":"iVBORw0KGgo="}"#),
            ("picture", #"{"url":"https://example.org/tours","title":"a","picture":"?"}"#),
        ])
    func refusals(_ member: String, _ preview: String) throws {
        let json = try RawJSON(#"{"text":"\#(Self.text)","linkPreview":\#(preview)}"#)
        let error = #expect(throws: ChatError.self) { try MessageContent(type: .text, json: json) }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == member)
    }

    @Test("A picture has at most 12,288 bytes")
    func pictureSize() throws {
        var preview = LinkPreview(link: Self.link, title: "a")
        preview.picture = Self.jpeg + Data(count: 12_288 - Self.jpeg.count)
        #expect(try MessageContent.text(Self.text, preview: preview).linkPreview == preview)
        preview.picture?.append(0)
        let error = #expect(throws: ChatError.self) { try MessageContent.text(Self.text, preview: preview) }
        #expect(error?.parameter == "picture")
        #expect(error?.limit == 12_288)
    }

    @Test(
        "The first link of a text ends before a space and before punctuation",
        arguments: [
            ("Look at https://example.org/a.", "https://example.org/a"),
            ("(see http://example.org/a?b=c&d)", "http://example.org/a?b=c&d"),
            ("https://example.org/a_(b), https://example.org/c", "https://example.org/a_(b)"),
            ("<https://example.org>", "https://example.org"),
            ("看https://example.org/中文。好", "https://example.org/中文"),
            ("看 https://example.org/b。", "https://example.org/b"),
            ("\"https://example.org/x\"", "https://example.org/x"),
            ("xhttps://example.org", nil),
            ("http:// and https:// and httpshttps", nil),
            ("no link", nil), ("", nil), ("https", nil),
            (String(repeating: "http", count: 2000) + " https://example.org", "https://example.org"),
        ])
    func firstLink(_ text: String, _ link: String?) {
        #expect(LinkPreview.firstLink(in: text) == link)
    }

    @Test("Texts of pages lose line breaks and direction controls, and end with an ellipsis if they are too long")
    func cleaning() {
        #expect(LinkPreview.cleaned(" a\n\t b\u{202E}c\u{0}", longest: 100) == "a bc")
        #expect(LinkPreview.cleaned(" \n\u{200F}", longest: 100) == nil)
        #expect(LinkPreview.cleaned("", longest: 100) == nil)
        #expect(LinkPreview.cleaned("0123456789", longest: 10) == "0123456789")
        #expect(LinkPreview.cleaned("01234567890", longest: 10) == "0123456…")
        #expect(LinkPreview.cleaned("👨‍👩‍👧👨‍👩‍👧", longest: 22) == "👨‍👩‍👧…")
        #expect(LinkPreview.cleaned("👨‍👩‍👧👨‍👩‍👧", longest: 10) == nil)
        #expect(LinkPreview.cleaned(String(repeating: "a ", count: 1 << 20), longest: 16)?.utf8.count == 16)
    }
}
