import Foundation
package import ScrollbackModel

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// The values in an XML answer of an S3-compatible store.
package struct S3Document: Sendable {
    private var values: [(path: String, text: String)] = []

    /// Reads a document in UTF-8 of at most 16 levels.
    ///
    /// It has no document type, which could declare entities, and no processing instructions.
    ///
    /// - Throws: `malformed` if the bytes are not such a document.
    package init(_ bytes: [UInt8]) throws(ChatError) {
        let (data, reader) = (Data(bytes), Reader())
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        let declaration = Data("<?xml ".utf8)
        let content = data.starts(with: declaration) ? data.dropFirst(declaration.count) : data
        // The parser ends the process if a name is not valid UTF-8, or a processing instruction has no content.
        guard String(bytes: bytes, encoding: .utf8) != nil, content.range(of: Data("<?".utf8)) == nil,
            content.range(of: Data("<!DOCTYPE".utf8)) == nil, !data.isEmpty, parser.parse(), reader.path.isEmpty
        else {
            throw ChatError(.malformed, "The answer of the store of files is not the expected XML.")
        }
        values = reader.values
    }

    /// Returns the texts of the elements with a path, such as `ListBucketResult/Contents/Key`, in their order.
    package func values(at path: String) -> [String] { values.filter { $0.path == path }.map(\.text) }

    private final class Reader: NSObject, XMLParserDelegate {
        var values: [(path: String, text: String)] = []
        var path: [String] = []
        private var text = ""

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            path.append(name)
            text = ""
            if path.count > 16 { parser.abortParsing() }
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            values.append((path.joined(separator: "/"), text))
            path.removeLast()
            text = ""
        }
    }
}
