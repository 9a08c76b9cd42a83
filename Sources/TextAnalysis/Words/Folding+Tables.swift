extension Folding {
    /// Letters without a Unicode decomposition for which users type another letter.
    static let letters: [Unicode.Scalar: String] = [
        "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ħ": "h", "Ħ": "h", "ŧ": "t",
        "Ŧ": "t", "þ": "th", "Þ": "th", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ı": "i",
        "ё": "е", "Ё": "е", "ѐ": "е", "Ѐ": "е", "ѝ": "и", "Ѝ": "и",
        "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ٲ": "ا", "ٳ": "ا", "ؤ": "و", "ئ": "ي", "ى": "ي", "ی": "ي", "ې": "ي",
        "ة": "ه", "ۀ": "ه", "ہ": "ه", "ۂ": "ه", "ە": "ه", "ھ": "ه", "ک": "ك", "ڪ": "ك",
    ]

    /// Returns whether a scalar is ignored: diacritics, Arabic and Hebrew vowel signs, and formatting characters.
    ///
    /// Marks of other scripts, such as Devanagari and Thai vowels or kana voicing, count as letters.
    static func isIgnored(_ value: UInt32) -> Bool {
        switch value {
        case 0xAD, 0x34F, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF: true
        case 0x300...0x36F, 0x483...0x489, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: true
        case 0x591...0x5BD, 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7: true
        case 0x610...0x61A, 0x61C, 0x640, 0x64B...0x65F, 0x670, 0x6D6...0x6DC, 0x6DF...0x6E4, 0x6E7, 0x6E8: true
        case 0x6EA...0x6ED, 0x8CA...0x8FF, 0x180B...0x180F, 0xFE00...0xFE0F, 0xE0000...0xE01EF: true
        default: false
        }
    }
}
