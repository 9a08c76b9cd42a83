import ScrollbackServer
import Testing

@Suite("XML answers of S3 stores")
struct S3DocumentTests {
    private static let error = "<Error><Code>SlowDown</Code></Error>"

    /// Returns the code in the answer of a failed request.
    private static func code(_ answer: String) throws -> String? {
        try S3Document(Array(answer.utf8)).values(at: "Error/Code").first
    }

    @Test("Invalid UTF-8 is refused, also if the answer declares another encoding")
    func invalidEncoding() throws {
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?>"
        for text in [
            "<Er*or></Er*or>", "<Error><Code*>a</Code></Error>", "<Error>*</Error>", latin + "<Error>*</Error>",
        ] {
            let bytes = text.utf8.map { $0 == UInt8(ascii: "*") ? 0xE1 : $0 }
            #expect(throws: (any Error).self, "\(text)") { try S3Document(bytes) }
        }
        #expect(try Self.code(latin + "<Error><Code>صور</Code></Error>") == "صور")
    }

    @Test("UTF-16 is read")
    func wideEncoding() throws {
        let bytes = ("\u{FEFF}" + Self.error).utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(try S3Document(bytes).values(at: "Error/Code") == ["SlowDown"])
    }

    @Test("Processing instructions are skipped, except one with the name of the XML declaration")
    func processingInstructions() throws {
        for document in [
            "<?xml version=\"1.0\"?>\n" + Self.error, "<?xml version='1.0' encoding='UTF-8' ?>" + Self.error,
            "<?a?>" + Self.error, Self.error + "<?a?>", "<?xmla b?>" + Self.error,
        ] {
            #expect(try Self.code(document) == "SlowDown", "\(document)")
        }
        for document in [
            "<?xml?>" + Self.error, "<?xml ?><?a?>" + Self.error, "<?a?><?xml version='1.0'?>" + Self.error,
        ] {
            #expect(throws: (any Error).self, "\(document)") { try Self.code(document) }
        }
    }

    @Test("White space before and after an answer is skipped")
    func whiteSpace() throws {
        for document in ["  \r\n" + Self.error + " \n", "\n<?xml version='1.0'?> " + Self.error] {
            #expect(try Self.code(document) == "SlowDown", "\(document)")
        }
    }

    @Test("A document type is refused")
    func documentType() {
        for type in [
            "<!DOCTYPE Error>", "<?xml version='1.0'?><!DOCTYPE Error [<!ENTITY x 'y'>]>",
            "<!DOCTYPE Error SYSTEM 'file:///etc/passwd'>",
        ] {
            #expect(throws: (any Error).self, "\(type)") { try Self.code(type + Self.error) }
        }
    }

    @Test("An answer has at most 16 levels")
    func levels() throws {
        func nested(_ levels: Int, in text: String) -> String {
            String(repeating: "<a>", count: levels) + text + String(repeating: "</a>", count: levels)
        }
        #expect(try Self.code(nested(15, in: "<a/>")) == nil)
        #expect(try Self.code(nested(16, in: "")) == nil)
        for document in [nested(16, in: "<a/>"), nested(17, in: ""), nested(10_000, in: "")] {
            #expect(throws: (any Error).self) { try Self.code(document) }
        }
    }

    @Test("An answer that is not one complete element is refused")
    func incomplete() {
        for document in [
            "", " ", "SlowDown", "<Error", "<Error><Code>SlowDown</Code>", "<Error><Code>SlowDown</Error></Code>",
            Self.error + Self.error, Self.error + "x", "x" + Self.error,
            "<Error><Code>&x;</Code></Error>", "<Error><Code>\u{1}</Code></Error>", "<Error><Code>&#0;</Code></Error>",
        ] {
            #expect(throws: (any Error).self, "\(document)") { try Self.code(document) }
        }
    }

    @Test("A text consists of the characters, references and CDATA sections after the last tag")
    func texts() throws {
        #expect(
            try Self.code("<Error><Code>a &amp; &#x1F426;\r\n<![CDATA[<b>]]><!-- c -->d</Code></Error>")
                == "a & 🐦\n<b>d")
        #expect(try Self.code("<Error><Code>a<b>c</b>d</Code></Error>") == "d")
        #expect(try Self.code("<Error>a<Code/>b</Error>") == "")
        let long = String(repeating: "é\n", count: 100_000)
        #expect(try Self.code("<Error><Code>\(long)</Code></Error>") == long)
    }

    @Test("A path names an element and all elements that contain it")
    func paths() throws {
        let document = try S3Document(
            Array("<a><b>1</b><c><b>2</b><b><c><b>3</b></c></b></c><b x='4'>5</b><a><b>6</b></a></a>".utf8))
        #expect(document.values(at: "a/b") == ["1", "5"])
        #expect(document.values(at: "a/c/b") == ["2", ""])
        #expect(document.values(at: "a/c/b/c/b") == ["3"])
        #expect(document.values(at: "a/a/b") == ["6"])
        #expect(document.values(at: "b") == [] && document.values(at: "a/x/b") == [])
    }
}
