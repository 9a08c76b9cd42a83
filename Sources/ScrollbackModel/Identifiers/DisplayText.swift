/// The characters that IDs and names may contain, so that one can't be displayed as another.
///
/// Letters of every script are allowed, with their marks, joiners and emoji. Look-alike letters of different scripts
/// are allowed too: the application decides which names it accepts.
package enum DisplayText {
    /// Checks the name of a user, a conversation or a file.
    ///
    /// - Throws: `invalid-parameter` if the text has a control character, a line separator, or a character that
    ///   overrides the direction of text. It must also close its embeddings and isolates.
    package static func check(_ text: String, _ parameter: String) throws(ChatError) {
        // The open embeddings and isolates, each with the character that closes it.
        var open: [UInt32] = []
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x202A, 0x202B: open.append(0x202C)
            case 0x2066...0x2068: open.append(0x2069)
            case 0x202C, 0x2069:
                guard open.popLast() == scalar.value else { throw unbalanced(parameter) }
            case 0x202D, 0x202E:
                throw .invalidParameter(
                    parameter, "must not override the direction of text (\(scalar.codePoint)); remove the character")
            default:
                guard !scalar.breaksLine else {
                    throw .invalidParameter(parameter, "must not contain control characters (\(scalar.codePoint))")
                }
            }
        }
        guard open.isEmpty else { throw unbalanced(parameter) }
    }

    private static func unbalanced(_ parameter: String) -> ChatError {
        .invalidParameter(parameter, "must close each bidirectional embedding and isolate that it opens")
    }
}

extension Unicode.Scalar {
    /// The scalar as `U+202E`.
    var codePoint: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether the scalar is a control character or separates lines or paragraphs.
    var breaksLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Whether the scalar is invisible and changes the direction of text.
    var isBidirectionalControl: Bool {
        switch value {
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Whether the scalar is invisible, and neither joins letters nor selects the form of an emoji.
    var isInvisible: Bool {
        switch value {
        case 0x00AD, 0x180E, 0x200B, 0x2060...0x2064, 0x206A...0x206F, 0xFEFF, 0xFFF9...0xFFFB: true
        default: false
        }
    }
}
