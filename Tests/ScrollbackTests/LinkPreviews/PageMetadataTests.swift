import Scrollback
import Testing

@Suite("Metadata of pages")
struct PageMetadataTests {
    private func read(_ page: String, charset: String? = nil) -> PageMetadata? {
        PageMetadata(Array(page.utf8), charset: charset)
    }

    @Test("The Open Graph properties go before the title and the description of HTML")
    func properties() {
        let page = read(
            """
            <!DOCTYPE html><html><head><title>Plain</title>
            <meta name="description" content="plain">
            <META Property='og:title' CONTENT='Bob &amp; Alice&#39;s &#x1F6B2; &unknown; &'>
            <meta content=short property=og:description />
            <meta property="og:site_name" content="Tours">
            <meta property="og:image" content="/a.jpg"><meta property="og:image" content="/b.jpg">
            </head><body><meta property="og:title" content="late"></body></html>
            """)
        #expect(page?.title == "Bob & Alice's 🚲 &unknown; &")
        #expect(page?.description == "short")
        #expect(page?.site == "Tours")
        #expect(page?.picture == "/a.jpg")
    }

    @Test("Without Open Graph, the title and the description of HTML count; empty ones don't")
    func plain() {
        let page = read(
            #"<meta property="og:title" content=" "><TITLE>a <b> c</TITLE><meta name=Description content="d">"#)
        #expect(page?.title == "a <b> c")
        #expect(page?.description == "d")
        #expect(page?.site == nil)
        #expect(page?.picture == nil)
    }

    @Test(
        "Tags in comments, scripts and styles don't count",
        arguments: [
            #"<!-- <title>no</title> --><title>yes</title>"#,
            #"<script>"<title>no</title>"</script><title>yes</title>"#,
            #"<style>/*<title>no</title>*/</style><title>yes</title>"#,
            #"<meta name="x" content="<title>no</title>"><title>yes</title>"#,
            #"<title>yes</title><title>no</title>"#,
        ])
    func ignoredTags(_ page: String) {
        #expect(read(page)?.title == "yes")
    }

    @Test(
        "A page that ends anywhere is read as far as it goes",
        arguments: [
            "<title>a</title><meta property=\"og:title\" content='b", "<title>a</title>", "<", "<!--", "</", "",
        ])
    func cutPages(_ page: String) {
        let bytes = Array(page.utf8)
        for count in 0...bytes.count { _ = PageMetadata(Array(bytes[..<count])) }
        #expect(PageMetadata(bytes) != nil)
    }

    @Test("Latin 1 is decoded, from the header field or from the page, and other encodings are not")
    func encodings() {
        let latin1: [UInt8] = Array("<title>caf".utf8) + [0xE9] + Array("</title>".utf8)
        #expect(PageMetadata(latin1, charset: "ISO-8859-1")?.title == "café")
        #expect(PageMetadata(Array("<meta charset=latin1>".utf8) + latin1)?.title == "café")
        #expect(PageMetadata(latin1)?.title == "caf\u{FFFD}")
        #expect(read("<title>é</title>", charset: "\"utf-8\"; x")?.title == "é")
        #expect(read("<title>é</title>", charset: "gb18030") == nil)
        #expect(read("<meta charset=\"Shift_JIS\"><title>a</title>") == nil)
    }

    @Test("The time to read a page is proportional to its size")
    func hostilePages() {
        let count = 1 << 19
        for piece in [
            "<", "<!--", "<meta ", "<meta a=", "<a b ", "<title>", "<script>", "&", "<meta property=og:title content=&",
        ] {
            #expect(read(String(repeating: piece, count: count / piece.utf8.count)) != nil, "\(piece)")
        }
    }
}
