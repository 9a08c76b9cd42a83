/// The folded words of a text (see ``Folding``) and their positions.
///
/// - A word is a run of letters and digits. Its parts (`snake_case`, `camelCase`, `don't`, `e-mail`, `node.js`) are
///   adjacent words. The joined parts are found too: `nodejs`, `dont`, `username` in `getUserName`.
/// - Scripts without spaces between words (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) are split into overlapping
///   pairs of characters. The last character also is a word by itself, so each character of a run starts exactly one
///   word. A text in a run is found by its consecutive pairs, and a single character as the start of a pair.
/// - An emoji is one word, regardless of its scalars, without variation selectors. So are other non-ASCII symbols.
/// - `c++` and `c#` keep their signs; all other symbols and punctuation separate words.
///
/// Positions are offsets in the text's UTF-8, which don't depend on a language or Unicode version. Words start and end
/// at grapheme boundaries.
package struct TokenizedText: Sendable {
    /// A word and its position.
    package struct Token: Hashable, Sendable {
        /// The range of the folded form in ``TokenizedText/bytes``.
        package var folded: Range<Int>
        /// The range in the text, in bytes of UTF-8.
        package var range: Range<Int>
        /// The end of the first character of a pair; for other words, the end of the word.
        package var firstCharacterEnd: Int
        /// Whether the word is the single last character of a run without spaces, which the previous pair also
        /// contains.
        package var isTrailingCharacter = false
    }

    /// The folded words in UTF-8, each followed by a space; ``joinedMarker`` precedes the first of the ``joined``
    /// words.
    package internal(set) var bytes: [UInt8] = []
    /// The words in the order of the text.
    package internal(set) var tokens: [Token] = []
    /// The joined parts of words without their connectors.
    package internal(set) var joined: [Token] = []

    /// The maximum number of bytes of a word; only the start of a longer word, such as a hash, is compared.
    package static let maximumBytes = 64
    /// The separator between the words of the text and the joined words; it is never a word.
    package static let joinedMarker = "##"

    /// Creates an empty value.
    package init() {}

    /// Splits a text into words.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { utf8 in
            var scanner = Tokenizer(capacity: utf8.count)
            scanner.scan(utf8)
            return scanner.finish()
        }
    }

    /// Decodes the words of a ``serialized``, without their positions.
    package init(serialized: String) {
        bytes = Array(serialized.utf8)
        var isBody = true
        var start = 0
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: " ") {
            let word = Token(folded: start..<index, range: 0..<0, firstCharacterEnd: 0)
            start = index + 1
            if bytes[word.folded].elementsEqual(Self.joinedMarker.utf8) {
                isBody = false
            } else if isBody {
                tokens.append(word)
            } else {
                joined.append(word)
            }
        }
    }

    /// All words as a text that FTS5's `ascii` tokenizer splits into the same words.
    package var serialized: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the folded form of a word.
    package func text(_ word: Token) -> String { String(decoding: bytes[word.folded], as: UTF8.self) }
}
