import Foundation

/// A set of banned words that are found in a text in one pass, regardless of their number.
///
/// Comparison ignores case, width, compatibility forms (NFKC), invisible characters, and marks that senders put on
/// letters to evade the filter. Letters of other scripts that look like Latin letters are equal to them
/// (``Confusables``). Letters of Latin alphabets such as `é`, `ñ` and `ạ` differ from letters without the mark, because
/// they form different words. In scripts with spaces between words, only whole words match: `ass` does not match
/// `class`. In Chinese, Japanese, Thai and other scripts without spaces, a word matches anywhere.
package struct BannedWords: Sendable {
    private struct Node {
        var next: [UInt8: Int] = [:]
        var fail = 0
        /// The words that end at this node, including suffixes, with their length and required boundaries.
        var ends: [End] = []
    }

    private struct End {
        var length: Int
        var needsStart: Bool
        var needsEnd: Bool
    }

    private var nodes = [Node()]

    /// Creates a set; empty and invisible words are ignored.
    package init(_ words: [String]) {
        for word in words { add(word) }
        link()
    }

    package var isEmpty: Bool { nodes.count == 1 }

    private mutating func add(_ word: String) {
        let text = BannedText(word)
        guard let first = text.characters.first, let last = text.characters.last else { return }
        var node = 0
        for byte in text.bytes {
            if let next = nodes[node].next[byte] {
                node = next
            } else {
                nodes[node].next[byte] = nodes.count
                node = nodes.count
                nodes.append(Node())
            }
        }
        nodes[node].ends.append(
            End(length: text.bytes.count, needsStart: first.isSpaced, needsEnd: last.isSpaced))
    }

    /// Adds the failure links of the Aho–Corasick algorithm, breadth first.
    private mutating func link() {
        var queue = Array(nodes[0].next.values)
        var index = 0
        while index < queue.count {
            let node = queue[index]
            index += 1
            for (byte, next) in nodes[node].next {
                var fail = nodes[node].fail
                while fail != 0, nodes[fail].next[byte] == nil { fail = nodes[fail].fail }
                let target = nodes[fail].next[byte] ?? 0
                nodes[next].fail = target == next ? 0 : target
                nodes[next].ends += nodes[nodes[next].fail].ends
                queue.append(next)
            }
        }
    }

    /// Returns whether a text contains one of the words.
    package func hasMatch(in text: String) -> Bool {
        guard !isEmpty else { return false }
        var isFound = false
        forEachMatch(in: BannedText(text)) { _ in isFound = true }
        return isFound
    }

    /// Returns the text with each visible character of the words replaced by `*`, or `nil` if it contains none of them.
    ///
    /// Characters are grapheme clusters. Invisible characters inside the words are removed.
    package func masked(_ text: String) -> String? {
        guard !isEmpty else { return nil }
        let banned = BannedText(text)
        var masked: Set<Int> = []
        forEachMatch(in: banned) { masked.formUnion($0) }
        guard !masked.isEmpty else { return nil }
        let seen = Set(banned.characters.map(\.number))
        var result = ""
        for (index, character) in text.enumerated() {
            if !masked.contains(index) || character.isWhitespace {
                result.append(character)
            } else if seen.contains(index) {
                result.append("*")
            }
        }
        return result
    }

    /// Calls `body` with the range of characters of each match.
    private func forEachMatch(in text: BannedText, _ body: (ClosedRange<Int>) -> Void) {
        var node = 0
        for (index, byte) in text.bytes.enumerated() {
            while node != 0, nodes[node].next[byte] == nil { node = nodes[node].fail }
            node = nodes[node].next[byte] ?? 0
            for end in nodes[node].ends {
                let first = text.characterOfByte[index + 1 - end.length]
                let last = text.characterOfByte[index]
                // A match must start and end at a character boundary.
                guard text.characters[first].start == index + 1 - end.length, text.characters[last].end == index + 1,
                    !end.needsStart || first == 0 || !text.isWord(first - 1, first),
                    !end.needsEnd || last + 1 == text.characters.count || !text.isWord(last, last + 1)
                else { continue }
                body(text.characters[first].number...text.characters[last].number)
            }
        }
    }
}

/// A text in the form in which banned words are compared.
private struct BannedText {
    struct Part {
        /// The number of the character in the text.
        var number: Int
        var start: Int
        var end: Int
        /// Whether the character belongs to a word of a script with spaces between words.
        var isSpaced: Bool
    }

    /// The visible characters.
    private(set) var characters: [Part] = []
    private(set) var bytes: [UInt8] = []
    /// The character of each byte.
    private(set) var characterOfByte: [Int] = []

    init(_ text: String) {
        bytes.reserveCapacity(text.utf8.count)
        for (number, character) in text.enumerated() {
            let start = bytes.count
            append(character)
            guard bytes.count > start else { continue }
            for _ in start..<bytes.count { characterOfByte.append(characters.count) }
            characters.append(
                Part(number: number, start: start, end: bytes.count, isSpaced: character.isInSpacedScript))
        }
    }

    /// Returns whether two adjacent characters belong to one word of a script with spaces.
    func isWord(_ a: Int, _ b: Int) -> Bool {
        characters[a].isSpaced && characters[b].isSpaced
    }

    private mutating func append(_ character: Character) {
        if let ascii = character.asciiValue {
            bytes.append((0x41...0x5A).contains(ascii) ? ascii | 0x20 : ascii)
            return
        }
        // Compose twice: the first call does not join half-width kana with their marks.
        let composed = String(character).precomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping
        for scalar in composed.lowercased().unicodeScalars where !scalar.isInvisible {
            let keepsMark = composed.unicodeScalars.count == 1 && scalar.isLatinLetterWithMark
            let parts = keepsMark || scalar.value >= 0x3000 ? [scalar] : Folding.withoutMarks(scalar)
            for part in parts where !Folding.isIgnored(part.value) {
                bytes += Confusables.latinForm(of: part).utf8
            }
        }
    }
}

extension Character {
    fileprivate var isInSpacedScript: Bool {
        switch CharacterClass(self) {
        case .lowercase, .uppercase, .letter, .digit: true
        case .unspaced, .symbol, .connector, .invisible, .separator: false
        }
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is a letter of a European or the Vietnamese alphabet that has a mark.
    fileprivate var isLatinLetterWithMark: Bool { (0xC0...0x17F).contains(value) || (0x1EA0...0x1EF9).contains(value) }

    /// Whether the scalar is invisible and only affects how others are drawn.
    fileprivate var isInvisible: Bool {
        properties.isDefaultIgnorableCodePoint || (0x200B...0x200F).contains(value)
    }
}
