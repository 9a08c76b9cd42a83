import CExpat
package import ScrollbackModel

/// The values in an XML answer of an S3-compatible store.
package struct S3Document: Sendable {
    /// The elements in the order of their start tags.
    private let elements: [Element]

    /// Reads a document in UTF-8 or UTF-16 of at most 16 levels.
    ///
    /// It has no document type, which could declare entities. White space before it is skipped: stores send it while a
    /// long operation runs. Time and memory grow linearly with its length.
    ///
    /// - Throws: `malformed` if the bytes are not such a document.
    package init(_ bytes: [UInt8]) throws(ChatError) {
        guard let reader = Reader(), reader.read(bytes.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D }) else {
            throw ChatError(.malformed, "The answer of the store of files is not the expected XML.")
        }
        elements = reader.elements
    }

    /// Returns the texts of the elements with a path, such as `ListBucketResult/Contents/Key`, in their order.
    package func values(at path: String) -> [String] {
        let names = path.split(separator: "/").map(String.init)
        return elements.filter { has($0, names) }.map(\.text)
    }

    /// Returns whether an element and the elements that contain it have the names, of which its own is the last one.
    private func has(_ element: Element, _ names: [String]) -> Bool {
        var next: Element? = element
        for name in names.reversed() {
            guard let element = next, element.name == name else { return false }
            next = element.parent.map { elements[$0] }
        }
        return next == nil
    }

    private struct Element {
        let name: String
        /// The index of the element that contains this one.
        ///
        /// An element does not keep its path, because one long name could be a part of many paths.
        let parent: Int?
        /// The text after the last tag within the element.
        var text = ""
    }

    /// Receives the parts of a document from expat.
    private final class Reader {
        private(set) var elements: [Element] = []
        private let parser: XML_Parser
        /// The indexes of the elements that have not ended.
        private var open: [Int] = []
        private var text = ""

        init?() {
            // The encoding replaces the one that a document declares.
            guard let parser = XML_ParserCreate("UTF-8") else { return nil }
            self.parser = parser
        }

        deinit { XML_ParserFree(parser) }

        /// Returns whether the bytes are a complete document without a document type, and not too deep.
        func read(_ bytes: ArraySlice<UInt8>) -> Bool {
            guard let count = Int32(exactly: bytes.count) else { return false }
            XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
            XML_SetElementHandler(
                parser, { reader, name, _ in Reader.at(reader).begin(name) }, { reader, _ in Reader.at(reader).end() })
            XML_SetCharacterDataHandler(parser) { reader, text, count in Reader.at(reader).append(text, count) }
            XML_SetStartDoctypeDeclHandler(parser) { reader, _, _, _, _ in Reader.at(reader).stop() }
            return withExtendedLifetime(self) {
                bytes.withUnsafeBytes { bytes in
                    XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), count, 1)
                        == XML_STATUS_OK
                }
            }
        }

        private static func at(_ pointer: UnsafeMutableRawPointer?) -> Reader {
            guard let pointer else { fatalError("expat calls no function without its argument.") }
            return Unmanaged<Reader>.fromOpaque(pointer).takeUnretainedValue()
        }

        private func begin(_ name: UnsafePointer<XML_Char>?) {
            elements.append(Element(name: name.map { String(cString: $0) } ?? "", parent: open.last))
            open.append(elements.count - 1)
            text = ""
            if open.count > 16 { stop() }
        }

        private func append(_ bytes: UnsafePointer<XML_Char>?, _ count: Int32) {
            text += String(decoding: UnsafeRawBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
        }

        private func end() {
            if let element = open.popLast() { elements[element].text = text }
            text = ""
        }

        /// Refuses the document.
        ///
        /// After the tag `<a/>`, expat still reports the end of the element.
        private func stop() { XML_StopParser(parser, 0) }
    }
}
