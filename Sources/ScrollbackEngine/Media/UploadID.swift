import Foundation

/// An upload's ID, with 144 random bits, because the URL that contains it is sufficient to resume the upload.
package struct UploadID: Hashable, Sendable, CustomStringConvertible {
    /// The text of 24 characters from `A-Z a-z 0-9 - _`, which is usable as a file name.
    package let text: String

    package init() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<18).map { _ in UInt8.random(in: 0...255, using: &generator) }
        text = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
    }

    /// Parses an ID.
    ///
    /// - Returns: `nil` if the text does not have this format.
    package init?(_ text: String) {
        guard text.utf8.count == 24, text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }

    package var description: String { text }
}
