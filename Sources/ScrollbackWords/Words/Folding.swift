import Foundation

/// What a character is compared by: without case, width, compatibility forms, and the marks and letters that people leave
/// out or mix up when they type.
///
/// - Latin and Greek lose their diacritics (`é` is `e`, `å` is `a`, `ø` is `o`, `ß` is `ss`): who has no such key finds
///   the word, and who has finds a little more than it.
/// - Cyrillic letters stay themselves (`й` is not `и`), besides `ё`, which is written `е` as often as not.
/// - Arabic and Hebrew lose their vowel signs, Arabic its tatweel; forms of alef, of hamza on a letter, of yeh, kaf and teh
///   marbuta are one, and so are the Persian letters.
/// - Kana and Hangul stay themselves, in one width and composed. Digits of any script are ASCII's.
enum Folding {
    /// Appends what a character is compared by, in UTF-8; nothing for a mark that is left out.
    ///
    /// Appended are ASCII letters and digits and whatever lies above ASCII.
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
        // Kana, Han and Hangul as they are written.
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

    /// The folded forms of 0x80..<0x3000: alphabets are looked up.
    private static let table: [String] = (0x80..<0x3000).map { Unicode.Scalar($0).map(fold) ?? "" }

    /// A scalar as it is compared, which folding again does not change.
    private static func fold(_ scalar: Unicode.Scalar) -> String {
        if let letter = letters[scalar] { return letter }
        if isLeftOut(scalar.value) { return "" }
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

    /// Punctuation that comes of taking a character apart, as of `㈱` or `ŉ`, would take the word apart too.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x80: scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
        case 0x2BC: false
        default: !isLeftOut(scalar.value) && ![.separator, .connector].contains(CharacterClass(Character(scalar)))
        }
    }

    /// Composed once more: Foundation leaves the half width marks of kana by themselves.
    private static func compatible(_ text: String) -> String.UnicodeScalarView {
        text.precomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping.unicodeScalars
    }

    /// By way of the capital, so that `ß` is `ss` and both sigmas are one.
    private static func lowercased(_ scalar: Unicode.Scalar) -> String {
        let small = scalar.properties.lowercaseMapping.unicodeScalars
        let capital = small.map(\.properties.uppercaseMapping).joined().unicodeScalars
        return capital.map(\.properties.lowercaseMapping).joined()
    }

    private static func withoutMarks(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        if (0x0400...0x052F).contains(scalar.value) { return [scalar] }
        let parts = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
        return parts.contains { isLeftOut($0.value) } ? parts.filter { !isLeftOut($0.value) } : [scalar]
    }

    private static func decimal(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else { return nil }
        return Unicode.Scalar(UInt8(ascii: "0") + UInt8(value))
    }
}
