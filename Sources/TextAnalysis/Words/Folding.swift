import Foundation

/// The folding of characters for comparison.
///
/// Folding ignores case, width, compatibility forms, and marks and letters that users omit or confuse.
///
/// - Latin and Greek letters lose their diacritics: `é` is `e`, `å` is `a`, `ø` is `o`, `ß` is `ss`. Users without such
///   keys find the words; other users find slightly more.
/// - Cyrillic letters stay the same (`й` is not `и`), except `ё`, which is often written `е`.
/// - Arabic and Hebrew lose their vowel signs, and Arabic its tatweel. The forms of alef, hamza, yeh, kaf and teh
///   marbuta are equal, including the Persian letters.
/// - Kana and Hangul stay the same, in one width and composed. Digits of all scripts become ASCII digits.
enum Folding {
    /// Appends the folded form of a character in UTF-8; appends nothing for an ignored mark.
    ///
    /// The result contains only ASCII letters and digits, and non-ASCII characters.
    static func append(_ character: Character, to bytes: inout [UInt8]) {
        let scalars = character.unicodeScalars
        if let only = scalars.first, scalars.count == 1 {
            append(only, to: &bytes)
        } else {
            for scalar in compatible(String(character)) { append(scalar, to: &bytes) }
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        switch scalar.value {
        case ..<0x80: append(ascii: scalar, to: &bytes)
        case ..<0x3000: bytes += table[Int(scalar.value) - 0x80].utf8
        // Kana, Han and Hangul don't change.
        case 0x3041...0x3096, 0x30A1...0x30FE, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7A3:
            bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        default: bytes += fold(scalar).utf8
        }
    }

    private static func append(ascii scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        let byte = UInt8(scalar.value)
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): bytes.append(byte | 0x20)
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): bytes.append(byte)
        default: break
        }
    }

    /// The folded forms of 0x80..<0x3000, which include most alphabets.
    private static let table: [String] = (0x80..<0x3000).map { Unicode.Scalar($0).map(fold) ?? "" }

    /// Returns the folded form of a scalar; folding is idempotent.
    private static func fold(_ scalar: Unicode.Scalar) -> String {
        if let letter = letters[scalar] { return letter }
        if isIgnored(scalar.value) { return "" }
        let cased = compatible(compatible(String(scalar)).map(lowercased).joined())
        var folded = String.UnicodeScalarView()
        for part in cased {
            if let letter = letters[part] {
                folded.append(contentsOf: letter.unicodeScalars)
            } else if let digit = decimal(part) {
                folded.append(digit)
            } else {
                folded.append(contentsOf: withoutMarks(part).flatMap { letters[$0]?.unicodeScalars.map { $0 } ?? [$0] })
            }
        }
        return String(folded.filter(isKept))
    }

    /// Returns whether a folded scalar is kept; punctuation from decompositions such as `㈱` or `ŉ` would split words.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x80: scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
        case 0x2BC: false
        default: !isIgnored(scalar.value) && ![.separator, .connector].contains(CharacterClass(Character(scalar)))
        }
    }

    /// Returns the compatibility form, composed again because Foundation leaves half-width kana marks separate.
    private static func compatible(_ text: String) -> String.UnicodeScalarView {
        text.precomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping.unicodeScalars
    }

    /// Lowercases a scalar via its uppercase form, so that `ß` becomes `ss` and both sigmas are equal.
    private static func lowercased(_ scalar: Unicode.Scalar) -> String {
        let lowercase = scalar.properties.lowercaseMapping.unicodeScalars
        let uppercase = lowercase.map(\.properties.uppercaseMapping).joined().unicodeScalars
        return uppercase.map(\.properties.lowercaseMapping).joined()
    }

    /// Returns the scalars of a letter without the marks that folding ignores; Cyrillic letters keep theirs.
    static func withoutMarks(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if (0x0400...0x052F).contains(scalar.value) { return [scalar] }
        let parts = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
        return parts.contains { isIgnored($0.value) } ? parts.filter { !isIgnored($0.value) } : [scalar]
    }

    private static func decimal(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else { return nil }
        return Unicode.Scalar(UInt8(ascii: "0") + UInt8(value))
    }
}
