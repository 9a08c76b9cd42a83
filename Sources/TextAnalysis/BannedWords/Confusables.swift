/// Lowercase letters of other scripts that look like ASCII letters, for banned words.
///
/// Unicode's list of confusables has thousands of entries. This one has the letters that common keyboards and text
/// generators offer: Cyrillic, Greek and Armenian letters, small capitals, and a few Latin letters. Full-width,
/// mathematical and enclosed letters need no entry, because NFKC maps them to ASCII.
enum Confusables {
    /// Each line has the ASCII letters, and below each the look-alikes in the same order.
    private static let tables: [(latin: String, others: String)] = [
        // Cyrillic, including letters whose uppercase forms look alike, such as В and Н.
        ("aceopxyijshqwdlbkmtg", "асеорхуіјѕһԛԝԁӏвкмтԍ"),
        ("hv", "нѵ"),
        // Greek; the final sigma is equal to the other one.
        ("abeiknoptuvxyzw", "αβεικηορτυνχγζω"), ("σ", "ς"),
        // Armenian.
        ("ouhngq", "օսհոցզ"),
        // Small capitals of the phonetic alphabets.
        ("abcdefghijklmnoprstuvwyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"),
        // Latin letters that no common alphabet has next to the ASCII letter.
        ("agiboe", "ɑɡıƀɵɛ"),
    ]

    private static let forms: [Unicode.Scalar: Unicode.Scalar] = {
        var forms: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (latin, others) in tables {
            for (letter, other) in zip(latin.unicodeScalars, others.unicodeScalars) { forms[other] = letter }
        }
        return forms
    }()

    /// Returns the ASCII letter that a lowercase letter looks like, or the letter itself.
    static func latinForm(of scalar: Unicode.Scalar) -> String { String(forms[scalar] ?? scalar) }
}
