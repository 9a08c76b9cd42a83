/// What a character does to the words around it.
enum CharacterClass: UInt8 {
    /// Of a word; a capital after a small letter begins a part of one.
    case small, capital, letter, digit
    /// Of a script that sets no spaces between words.
    case unspaced
    /// An emoji or another sign: a word by itself.
    case sign
    /// Between the parts of a word: `snake_case`, `don't`, `e-mail`, `node.js`.
    case connector
    /// Not seen at all.
    case invisible
    /// Between words.
    case separator

    /// The class of an ASCII character.
    init(ascii byte: UInt8) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): self = .small
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .capital
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "'"): self = .connector
        default: self = .separator
        }
    }

    /// The class of any character, by its first scalar, which decides what the others add to.
    init(_ character: Character) {
        guard let first = character.unicodeScalars.first else {
            self = .separator
            return
        }
        if character.isEmojiSequence {
            self = .sign
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
        case .uppercaseLetter, .titlecaseLetter: self = .capital
        case .lowercaseLetter: self = .small
        case .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .enclosingMark:
            self = scalar.isUnspaced ? .unspaced : .letter
        case .connectorPunctuation: self = .connector
        case .otherSymbol, .mathSymbol, .currencySymbol, .modifierSymbol, .privateUse, .unassigned: self = .sign
        default: self = .separator
        }
    }
}

extension Unicode.Scalar {
    /// Whether its script sets no spaces between words, or has words inside of what it sets spaces between.
    fileprivate var isUnspaced: Bool {
        switch value {
        // Thai and Lao, Myanmar, Hangul letters, Khmer.
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1100...0x11FF, 0x1780...0x17FF, 0xA960...0xA97F, 0xAA60...0xAA7F: true
        // Radicals, marks of iteration, kana, Bopomofo, Han, Yi, Hangul.
        case 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3035, 0x3038...0x303C, 0x3041...0x31FF, 0x3400...0x4DBF: true
        case 0x4E00...0xA4CF, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0xFF66...0xFFDC, 0x1AFF0...0x1B16F: true
        case 0x20000...0x3FFFF: true
        default: false
        }
    }
}

extension Character {
    /// Whether it is drawn as an emoji: one by nature, or by what follows it (a selector, a skin tone, a joined one, a
    /// keycap).
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
