/// Scans a text once and collects its words.
struct Tokenizer {
    private var words = TokenizedText()
    /// The current part of a word.
    private var part: Part?
    /// The adjacent parts, separated by nothing or one connector.
    private var chunk: [TokenizedText.Token] = []
    /// The last character of a run without spaces, which starts a pair if another follows.
    private var run: (folded: [UInt8], range: Range<Int>)?
    /// Whether the last character was a connector.
    private var isConnected = false
    private var joined: [(bytes: [UInt8], range: Range<Int>)] = []
    private var scratch: [UInt8] = []

    private struct Part {
        var folded: Int
        var range: Range<Int>
        var last: CharacterClass
        /// The start of the last character, folded and in the text, if it is an uppercase letter after another one.
        var secondUppercase: (folded: Int, offset: Int)?
    }

    init(capacity: Int) {
        words.bytes.reserveCapacity(capacity + capacity / 4)
        words.tokens.reserveCapacity(capacity / 5)
    }

    mutating func scan(_ utf8: UnsafeBufferPointer<UInt8>) {
        func byte(_ offset: Int) -> UInt8? { offset < utf8.count ? utf8[offset] : nil }
        var offset = 0
        while let first = byte(offset) {
            let end = Self.endOfNonASCII(utf8, from: offset)
            if end > offset {
                take(nonASCII: String(decoding: utf8[offset..<end], as: UTF8.self), at: offset, before: byte(end))
                offset = end
            } else {
                take(ascii: first, at: offset, before: byte(offset + 1))
                offset += 1
                if CharacterClass(ascii: first) == .lowercase { takeLowercase(utf8, from: &offset) }
            }
        }
    }

    /// Takes the lowercase ASCII letters that follow one that was taken.
    ///
    /// All at once, because most text consists of them.
    ///
    /// - Parameter offset: The first byte to take; set to the first one that was not taken. The two bytes before a
    ///   character of more than one byte are left, because it may combine with the last of them.
    private mutating func takeLowercase(_ utf8: UnsafeBufferPointer<UInt8>, from offset: inout Int) {
        var end = offset
        while end < utf8.count, CharacterClass(ascii: utf8[end]) == .lowercase { end += 1 }
        if Self.endOfNonASCII(utf8, from: end) > end { end -= 2 }
        guard end > offset, let known = part else { return }
        let room = TokenizedText.maximumBytes - (words.bytes.count - known.folded)
        words.bytes += utf8[offset..<end].prefix(room)
        part?.range = known.range.lowerBound..<end
        offset = end
    }

    /// Returns the end of a section that contains characters of more than one byte.
    ///
    /// The section ends between two ASCII characters, which never combine, and is followed by another ASCII character.
    private static func endOfNonASCII(_ utf8: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        func areASCII(_ offsets: ClosedRange<Int>) -> Bool {
            offsets.allSatisfy { $0 >= utf8.count || utf8[$0] < 0x80 }
        }
        guard !areASCII(start...(start + 2)) else { return start }
        var end = start + 1
        while end < utf8.count, !areASCII((end - 1)...(end + 1)) { end += 1 }
        return end
    }

    /// Scans a section with characters of more than one byte.
    ///
    /// - Parameter last: The byte after the section.
    private mutating func take(nonASCII text: String, at start: Int, before last: UInt8?) {
        var offset = start
        var rest = text[...]
        while let character = rest.popFirst() {
            let count = character.utf8.count
            if let byte = character.utf8.first, count == 1 {
                let next = rest.first.map { $0.utf8.count == 1 ? $0.utf8.first ?? Self.nonASCII : Self.nonASCII }
                take(ascii: byte, at: offset, before: next ?? last)
            } else {
                take(character, at: offset..<(offset + count))
            }
            offset += count
        }
    }

    /// A placeholder for a character of more than one byte.
    private static let nonASCII: UInt8 = 0xFF

    mutating func finish() -> TokenizedText {
        endChunk()
        guard !joined.isEmpty else { return words }
        words.bytes += (TokenizedText.joinedMarker + " ").utf8
        for (bytes, range) in joined {
            let start = words.bytes.count
            words.bytes += bytes
            words.joined.append(
                .init(folded: start..<words.bytes.count, range: range, firstCharacterEnd: range.upperBound))
            words.bytes.append(UInt8(ascii: " "))
        }
        return words
    }

    // MARK: Characters

    private mutating func take(ascii byte: UInt8, at offset: Int, before next: UInt8?) {
        let kind = CharacterClass(ascii: byte)
        switch kind {
        case .lowercase, .uppercase, .digit: extend(kind, at: offset..<(offset + 1)) { $0.append(byte | 0x20) }
        case .connector: connect()
        default:
            if var known = part, let sign = keptSign(byte, after: known, at: offset, before: next) {
                known.range = known.range.lowerBound..<sign.end
                part = known
                words.bytes += sign.bytes
            }
            endChunk()
        }
    }

    /// Returns the sign of `c++` and `c#`, which belongs to the word.
    private func keptSign(
        _ byte: UInt8, after part: Part, at offset: Int, before next: UInt8?
    ) -> (bytes: [UInt8], end: Int)? {
        guard part.range.upperBound == offset, part.last != .digit else { return nil }
        switch (byte, next) {
        case (UInt8(ascii: "+"), UInt8(ascii: "+")?): return ([byte, byte], offset + 2)
        case (UInt8(ascii: "#"), let next):
            let ends = next.map { CharacterClass(ascii: $0) == .separator } ?? true
            return ends && part.range.count <= 2 ? ([byte], offset + 1) : nil
        default: return nil
        }
    }

    private mutating func take(_ character: Character, at range: Range<Int>) {
        let kind = CharacterClass(character)
        switch kind {
        case .invisible: break
        case .separator: endChunk()
        case .connector: connect()
        case .symbol: takeSymbol(character, at: range)
        case .unspaced: takeUnspaced(character, at: range)
        case .lowercase, .uppercase, .letter, .digit: extend(kind, at: range) { Folding.append(character, to: &$0) }
        }
    }

    private mutating func takeSymbol(_ character: Character, at range: Range<Int>) {
        endChunk()
        let start = words.bytes.count
        // Keep emoji unchanged; their compatibility forms are different characters.
        let isEmoji = character.unicodeScalars.contains { $0.properties.isEmoji }
        if isEmoji {
            for scalar in character.unicodeScalars where scalar.value & ~1 != 0xFE0E {
                words.bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
        } else {
            Folding.append(character, to: &words.bytes)
        }
        let isTooLong = words.bytes.count - start > TokenizedText.maximumBytes
        if isTooLong { truncate(from: start) }
        appendToken(start, range)
    }

    /// Truncates a word that is too long, between two scalars.
    private mutating func truncate(from start: Int) {
        var end = start + TokenizedText.maximumBytes
        while end > start, words.bytes[end] & 0xC0 == 0x80 { end -= 1 }
        words.bytes.removeSubrange(end...)
    }

    // MARK: Scripts without spaces

    private mutating func takeUnspaced(_ character: Character, at range: Range<Int>) {
        endParts()
        scratch.removeAll(keepingCapacity: true)
        Folding.append(character, to: &scratch)
        guard !scratch.isEmpty else { return }
        if scratch.count > TokenizedText.maximumBytes / 2 { scratch.removeAll() }
        if let previous = run {
            let start = words.bytes.count
            words.bytes += previous.folded
            words.bytes += scratch
            appendToken(
                start, previous.range.lowerBound..<range.upperBound, firstCharacterEnd: previous.range.upperBound)
        }
        run = (scratch, range)
    }

    private mutating func endRun() {
        guard let last = run else { return }
        run = nil
        let start = words.bytes.count
        words.bytes += last.folded
        appendToken(start, last.range, isTrailingCharacter: true)
    }

    // MARK: Parts of words

    private mutating func extend(_ kind: CharacterClass, at range: Range<Int>, _ append: (inout [UInt8]) -> Void) {
        endRun()
        isConnected = false
        if let known = part {
            if kind == .uppercase, known.last == .lowercase {
                endPart()
            } else if kind == .lowercase, let second = known.secondUppercase {
                split(before: second)
            }
        }
        var part = self.part ?? Part(folded: words.bytes.count, range: range, last: .separator)
        let start = words.bytes.count
        append(&words.bytes)
        // Truncate words that are too long, between two characters.
        if words.bytes.count - part.folded > TokenizedText.maximumBytes { words.bytes.removeSubrange(start...) }
        part.secondUppercase = kind == .uppercase && part.last == .uppercase ? (start, range.lowerBound) : nil
        part.range = part.range.lowerBound..<range.upperBound
        part.last = kind
        self.part = part
    }

    /// Splits before the last of several uppercase letters: `HTTPServer` is `http` and `server`.
    private mutating func split(before second: (folded: Int, offset: Int)) {
        guard let known = part else { return }
        let tail = Array(words.bytes[second.folded...])
        words.bytes.removeSubrange(second.folded...)
        part?.range = known.range.lowerBound..<second.offset
        endPart()
        part = Part(folded: words.bytes.count, range: second.offset..<known.range.upperBound, last: .uppercase)
        words.bytes += tail
    }

    private mutating func connect() {
        endRun()
        endPart()
        if isConnected { endChunk() }
        isConnected = true
    }

    private mutating func endPart() {
        guard let known = part else { return }
        part = nil
        if let word = appendToken(known.folded, known.range) { chunk.append(word) }
    }

    private mutating func endChunk() {
        endRun()
        endParts()
    }

    private mutating func endParts() {
        endPart()
        isConnected = false
        if (2...Self.maximumParts).contains(chunk.count) { join() }
        chunk.removeAll(keepingCapacity: true)
    }

    /// The maximum number of parts of a word that can also be found joined.
    private static let maximumParts = 6

    /// Adds the joined form of each sequence of parts up to the last, if it starts with a letter: `3.14` is not 314.
    private mutating func join() {
        for (index, first) in chunk.dropLast().enumerated() {
            guard let byte = words.bytes[first.folded].first, !(0x30...0x39).contains(byte) else { continue }
            let bytes = chunk[index...].flatMap { words.bytes[$0.folded] }
            guard bytes.count <= TokenizedText.maximumBytes, let last = chunk.last else { continue }
            joined.append((bytes, first.range.lowerBound..<last.range.upperBound))
        }
    }

    /// Completes an appended word; a word that folded to nothing is ignored.
    @discardableResult
    private mutating func appendToken(
        _ start: Int, _ range: Range<Int>, firstCharacterEnd: Int? = nil, isTrailingCharacter: Bool = false
    ) -> TokenizedText.Token? {
        guard words.bytes.count > start else { return nil }
        let word = TokenizedText.Token(
            folded: start..<words.bytes.count, range: range, firstCharacterEnd: firstCharacterEnd ?? range.upperBound,
            isTrailingCharacter: isTrailingCharacter)
        words.tokens.append(word)
        words.bytes.append(UInt8(ascii: " "))
        return word
    }
}
