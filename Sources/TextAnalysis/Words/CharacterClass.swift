/// The effect of a character on word boundaries.
enum CharacterClass: UInt8 {
    /// A character of a word; an uppercase letter after a lowercase one starts a new part.
    case lowercase, uppercase, letter, digit
    /// A character of a script without spaces between words.
    case unspaced
    /// An emoji or another symbol, which is a word by itself.
    case symbol
    /// A character between the parts of a word: `snake_case`, `don't`, `e-mail`, `node.js`.
    case connector
    /// An invisible character, which is ignored.
    case invisible
    /// A character between words.
    case separator

    /// Returns the class of an ASCII character.
    init(ascii byte: UInt8) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): self = .lowercase
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .uppercase
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "'"): self = .connector
        default: self = .separator
        }
    }

    /// Returns the class of a character, which its first scalar determines.
    init(_ character: Character) {
        guard let first = character.unicodeScalars.first else {
            self = .separator
            return
        }
        if character.isEmojiSequence {
            self = .symbol
        } else if first.isASCII {
            self.init(ascii: UInt8(first.value))
        } else {
            self.init(first)
        }
    }

    private init(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0xAD, 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x2069, 0xFEFF:
            self = .invisible
            return
        case 0xB7, 0x2010, 0x2011, 0x2018, 0x2019, 0x2BC, 0xFF07, 0xFF0D, 0xFF0E, 0xFF3F:
            self = .connector
            return
        default: break
        }
        switch scalar.properties.generalCategory {
        case .decimalNumber: self = .digit
        case .letterNumber, .otherNumber: self = scalar.isUnspaced ? .unspaced : .digit
        case .uppercaseLetter, .titlecaseLetter: self = .uppercase
        case .lowercaseLetter: self = .lowercase
        case .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .enclosingMark:
            self = scalar.isUnspaced ? .unspaced : .letter
        case .connectorPunctuation: self = .connector
        case .otherSymbol, .mathSymbol, .currencySymbol, .modifierSymbol, .privateUse, .unassigned: self = .symbol
        default: self = .separator
        }
    }
}

extension Unicode.Scalar {
    /// Whether the script has no spaces between words, or spaces only between groups of words.
    fileprivate var isUnspaced: Bool {
        switch value {
        // Thai and Lao, Myanmar, Hangul letters, Khmer.
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17FF, 0xA960...0xA97F, 0xAA60...0xAA7F: true
        // Radicals, iteration marks, kana, Bopomofo, Han, Yi, Hangul.
        case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3035, 0x3038...0x303C, 0x3041...0x31FF, 0x3400...0x4DBF: true
        case 0x4E00...0xA4CF, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0xFF66...0xFFDC, 0x1AFF0...0x1B16F: true
        case 0x20000...0x3FFFF: true
        default: false
        }
    }
}

extension Character {
    /// Whether the character is displayed as an emoji.
    ///
    /// It is an emoji by default, or because of a variation selector, skin tone, joiner or keycap.
    fileprivate var isEmojiSequence: Bool {
        let scalars = unicodeScalars
        guard let first = scalars.first else { return false }
        if first.isASCII { return scalars.contains { $0.value == 0x20E3 } }
        guard first.value == 0xA9 || first.value == 0xAE || first.value > 0x2000, first.properties.isEmoji else {
            return false
        }
        return first.properties.isEmojiPresentation
            || scalars.contains { $0.value == 0xFE0F || $0.value == 0x200D || $0.properties.isEmojiModifier }
    }
}
