import ScrollbackEngine
import Testing

@Suite("Payloads of incoming webhooks")
struct SlackPayloadTests {
    private func text(_ json: String) -> String {
        do {
            return try SlackPayload.text(of: Array(json.utf8))
        } catch {
            return "refused: \(error.rawValue)"
        }
    }

    @Test(
        "Slack's markup becomes plain text",
        arguments: [
            ("*bold* _italic_ ~struck~ `code`", "*bold* _italic_ ~struck~ `code`"),
            ("see <https://a.test/x|the page>", "see the page (https://a.test/x)"),
            ("see <https://a.test/x>, and <http://b.test>", "see https://a.test/x, and http://b.test"),
            ("<https://a.test|https://a.test>", "https://a.test"), ("<https://a.test|>", "https://a.test"),
            ("<https://a.test?a=1&amp;b=2|a &lt; b>", "a < b (https://a.test?a=1&b=2)"),
            ("<mailto:bob@b.test|bob@b.test> <mailto:bob@b.test|Bob>", "bob@b.test Bob (bob@b.test)"),
            ("a &lt; b &amp;&amp; c &gt; d", "a < b && c > d"), ("&amp;lt; &quot; & &am", "&lt; &quot; & &am"),
            ("<!channel> <!here|here> <!everyone>", "@channel @here @everyone"),
            ("<@U012> <@U012|ann> <#C01|general> <#C01>", "@U012 @ann #general #C01"),
            ("<!subteam^S01|@ops> <!subteam^S01>", "@ops @S01"),
            ("<!date^1392734382^{date}^https://a.test|18 Feb> ", "18 Feb "),
            ("<!date^1392734382^{date}>", "<!date^1392734382^{date}>"),
            ("1 < 2 > 0", "1 < 2 > 0"),
            ("Array<String> <> <|x> <https:> <a b:c>", "Array<String> <> <|x> <https:> <a b:c>"),
            ("<<https://a.test>", "<https://a.test"), ("<https://a.test", "<https://a.test"),
            ("<https://a.test|two\nlines>", "<https://a.test|two\nlines>"),
            ("ünï <https://a.test|→>", "ünï → (https://a.test)"),
        ])
    func markup(markup: String, expected: String) throws {
        let json = markup.replacing("\n", with: "\\n")
        #expect(text(#"{"text":"\#(json)"}"#) == expected)
    }

    @Test(
        "Attachments, blocks and fields become lines of text",
        arguments: [
            (#"{"text":"a","username":"x","icon_url":7,"channel":{}}"#, "a"),
            (
                #"""
                {"text":"a","attachments":[{"fallback":"f","pretext":"p","author_name":"n","title":"t",
                "title_link":"https://t.test","text":"x","color":"danger","fields":[{"title":"F","value":7,"short":true},
                {"title":"G"},{"value":"<https://v.test|v>"}],"footer":"o","mrkdwn_in":["text"],
                "actions":[{"type":"button","text":"Go","url":"https://go.test"},{"type":"button","text":"No"}]}]}
                """#,
                "a\np\nn\nt (https://t.test)\nx\nF: 7\nG\nv (https://v.test)\nGo (https://go.test)\no"
            ),
            (
                #"{"attachments":[{"fallback":"only <https://a.test>"},{"text":"b","fallback":"f"}]}"#,
                "only https://a.test\nb"
            ),
            (#"{"text":"fallback","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"shown"}}]}"#, "shown"),
            (
                #"""
                {"blocks":[{"text":{"text":"<H> &amp;","type":"plain_text"},"type":"header"},{"type":"divider"},
                {"type":"section","fields":[{"type":"mrkdwn","text":"*a*"},{"type":"plain_text","text":"b"}],
                "accessory":{"type":"button","text":{"type":"plain_text","text":"Go"},"url":"https://go.test"}},
                {"type":"context","elements":[{"type":"image","alt_text":"face","image_url":"https://i.test"},
                {"type":"mrkdwn","text":"by <@U1|ann>"}]},{"type":"video","title":"ignored"},
                {"type":"image","image_url":"https://i.test/1.png","alt_text":"plot"}]}
                """#,
                "<H> &\n---\n*a*\nb\nGo (https://go.test)\nface by @ann\nplot (https://i.test/1.png)"
            ),
            (
                #"""
                {"blocks":[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[
                {"type":"text","text":"hi "},{"type":"user","user_id":"U1"},{"type":"broadcast","range":"here"},
                {"type":"emoji","name":"wave"}]},{"type":"rich_text_list","elements":[{"type":"rich_text_section",
                "elements":[{"type":"link","url":"https://a.test","text":"a"}]},{"type":"rich_text_section",
                "elements":[{"type":"text","text":"b"}]}]}]}]}
                """#,
                "hi @U1@here:wave:\n• a (https://a.test)\n• b"
            ),
            (#"{"text":null,"blocks":[{"type":"divider"}],"attachments":[{"text":"a"}]}"#, "a"),
            (#"{"text":"a","blocks":null,"attachments":[]}"#, "a"),
            (#"{"text":"one","text":"two"}"#, "two"),
            (#"{"text":"a\n","attachments":[{"text":"b\r\n\n","footer":"c"}]}"#, "a\nb\nc"),
        ])
    func structure(json: String, expected: String) {
        #expect(text(json) == expected)
    }

    @Test(
        "Payloads without text or of another form are refused with Slack's codes",
        arguments: [
            ("", "invalid_payload"), ("hi", "invalid_payload"), (#""hi""#, "invalid_payload"),
            (#"{"text":"a"} x"#, "invalid_payload"), ("[]", "invalid_payload"), (#"{"text":{}}"#, "invalid_payload"),
            (#"{"text":["a"]}"#, "invalid_payload"), (#"{"attachments":{}}"#, "invalid_payload"),
            (#"{"attachments":["a"]}"#, "invalid_payload"), (#"{"blocks":"a"}"#, "invalid_payload"),
            (#"{"blocks":[[]]}"#, "invalid_payload"), ("{}", "no_text"), (#"{"text":" \n"}"#, "no_text"),
            (#"{"blocks":[{"type":"divider"}]}"#, "no_text"), (#"{"attachments":[{"color":"red"}]}"#, "no_text"),
            (#"{"username":"x"}"#, "no_text"),
        ])
    func refusals(json: String, code: String) {
        #expect(text(json) == "refused: \(code)")
    }

    @Test("A payload has at most 100 attachments, and invalid UTF-8 and deep nesting are refused")
    func bounds() throws {
        func attachments(_ count: Int) -> String {
            let all = (0..<count).map { #"{"text":"\#($0)"}"# }.joined(separator: ",")
            return #"{"attachments":[\#(all)]}"#
        }
        #expect(text(attachments(100)).hasSuffix("\n99"))
        #expect(text(attachments(101)) == "refused: too_many_attachments")
        let deep = String(repeating: "[", count: 100_000)
        #expect(text(#"{"text":"a","x":\#(deep)"#) == "refused: invalid_payload")
        #expect(throws: SlackPayload.Failure.invalidPayload) {
            try SlackPayload.text(of: Array(#"{"text":""#.utf8) + [0xFF] + Array(#""}"#.utf8))
        }
    }

    @Test("The text of a long payload is complete")
    func completeness() {
        let long = String(repeating: "x", count: 200_000)
        #expect(text(#"{"text":"\#(long)"}"#) == long)
    }
}
