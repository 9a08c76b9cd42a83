/// The words of a text as they are compared (see ``Folding``), and where in the text each stands.
///
/// - A word is a run of letters and digits. Parts of one (`snake_case`, `camelCase`, `don't`, `e-mail`, `node.js`) are words
///   that follow each other, and what they are without their connectors is found too: `nodejs`, `dont`, `username` in
///   `getUserName`.
/// - Scripts without spaces between words (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) are cut into overlapping pairs of
///   characters, with the last character by itself, so each character of a run begins exactly one word. What lies anywhere in a
///   run is found as the pairs it has, one after the other, and a single character as the beginning of a pair.
/// - An emoji is one word, whatever it is made of, without variation selectors; other signs above ASCII are too.
/// - `c++` and `c#` keep their signs; all other signs and punctuation stand between words.
///
/// Places are offsets into the text's UTF-8, which mean the same in every language and version of Unicode; words begin and
/// end between characters as readers see them.
package struct Words: Sendable {
    /// A word and where it stands.
    package struct Word: Hashable, Sendable {
        /// Where its folded form is in ``Words/bytes``.
        package var folded: Range<Int>
        /// Where it stands in the text, in bytes of UTF-8.
        package var range: Range<Int>
        /// Where the first of a pair's two characters ends; otherwise where the word does.
        package var firstEnd: Int
        /// Whether it is the last character of a run without spaces, which the pair before it has too.
        package var isTail = false
    }

    /// Folded words with a space after each, in UTF-8; ``mark`` stands before the first of the ``joined``.
    package internal(set) var bytes: [UInt8] = []
    /// In the order of the text.
    package internal(set) var body: [Word] = []
    /// Parts that follow each other without what connects them.
    package internal(set) var joined: [Word] = []

    /// How many bytes of a word count: of what is longer, a hash or a blob, only the beginning is compared.
    package static let maximumBytes = 64
    /// Stands between the text's own words and the joined ones; no word is it.
    package static let mark = "##"

    /// No words.
    package init() {}

    /// The words of any text.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { utf8 in
            var scanner = WordScanner(capacity: utf8.count)
            scanner.scan(utf8)
            return scanner.finished()
        }
    }

    /// The words of a ``stream``, without their places.
    package init(stream: String) {
        bytes = Array(stream.utf8)
        var isBody = true
        var start = 0
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: " ") {
            let word = Word(folded: start..<index, range: 0..<0, firstEnd: 0)
            start = index + 1
            if bytes[word.folded].elementsEqual(Self.mark.utf8) {
                isBody = false
            } else if isBody {
                body.append(word)
            } else {
                joined.append(word)
            }
        }
    }

    /// All words as a text that FTS5's `ascii` tokenizer takes apart into just these.
    package var stream: String { String(decoding: bytes, as: UTF8.self) }

    /// A word's folded form.
    package func text(_ word: Word) -> String { String(decoding: bytes[word.folded], as: UTF8.self) }
}
