import ScrollbackServer
import Testing

@Suite("XML answers of S3 stores")
struct S3DocumentTests {
    @Test("An answer that is not valid UTF-8 is refused")
    func encoding() throws {
        let document = try S3Document(Array("<Error><Code>SlowDown</Code></Error>".utf8))
        #expect(document.values(at: "Error/Code") == ["SlowDown"])
        for text in ["<Er?or></Er?or>", "<Error><Code?>a</Code></Error>", "<Error>?</Error>"] {
            let bytes = text.utf8.map { $0 == UInt8(ascii: "?") ? 0xE1 : $0 }
            #expect(throws: (any Error).self) { try S3Document(bytes) }
        }
    }

    @Test("A processing instruction is refused, and the XML declaration is not")
    func processingInstructions() throws {
        let error = "<Error><Code>SlowDown</Code></Error>"
        for document in ["<?xml version=\"1.0\"?>\n" + error, "<?xml version='1.0' encoding='UTF-8' ?>" + error] {
            #expect(try S3Document(Array(document.utf8)).values(at: "Error/Code") == ["SlowDown"])
        }
        for document in [
            "<?a?>" + error, error + "<?a?>", "<?xml?>" + error, "<?xml ?><?a?>" + error, "<?xmla b?>" + error,
        ] {
            #expect(throws: (any Error).self, "\(document)") { try S3Document(Array(document.utf8)) }
        }
    }
}
