import Foundation
import TextAnalysis
import Testing

@Suite("Banned words")
struct BannedWordsTests {
    @Test(
        "Words match whole in scripts with spaces and anywhere in others, regardless of case and width",
        arguments: [
            ("ass", "class", nil), ("ass", "an ASS!", "an ***!"), ("ass", "ass", "***"), ("ass", "ass-hat", "***-hat"),
            ("ass", "ａｓｓ", "***"), ("ass", "a\u{200B}ss", "***"), ("ass", "passable", nil),
            ("spam", "不要spam啊", "不要****啊"), ("坏话", "他说坏话了", "他说**了"), ("คำหยาบ", "นี่คำหยาบนะ", "นี่*****นะ"),
            ("ﾊﾞｶ", "このバカ者", "この**者"), ("バカ", "このﾊﾞｶ者", "この**者"), ("ばか", "このは\u{3099}か者", "この**者"),
            ("ass", "a\u{AD}s\u{FEFF}s and \u{200B}", "*** and \u{200B}"), ("μαλάκας", "ΜΑΛΆΚΑΣ", "*******"),
            ("año", "ano", nil), ("ano", "año", nil), ("Straße", "STRASSE", nil),
            ("two words", "with Two Words in it", "with *** ***** in it"), ("a", "a a ba ab a", "* * ba ab *"),
            ("мат", "МАТ и мата", "*** и мата"), ("hi", "", nil), ("🖕", "so 🖕🏽 no", nil), ("🖕", "so🖕no", "so*no"),
            ("c++", "I like C++.", "I like ***."), ("he", "she he her he", "she ** her **"),
        ] as [(String, String, String?)])
    func found(_ word: String, _ text: String, _ masked: String?) {
        let words = BannedWords([word])
        #expect(words.masked(text) == masked, "\(word) in \(text)")
        #expect(words.hasMatch(in: text) == (masked != nil), "\(word) in \(text)")
    }

    @Test(
        "Look-alike letters and marks on letters don't hide a word",
        arguments: [
            "ѕраm", "ЅРАМ", "ѕрам", "σραm".replacingOccurrences(of: "σ", with: "s"), "s\u{336}p\u{336}a\u{336}m\u{336}",
            "s\u{20DD}pam", "ｓｐａｍ", "𝓼𝓹𝓪𝓶", "ⓢⓟⓐⓜ", "ꜱᴘᴀᴍ", "spａ\u{300}\u{301}\u{302}m", "s\u{34F}p\u{2060}am", "spɑm",
            "ṣpaṃ", "s\u{202E}pam",
        ])
    func lookAlikes(_ text: String) {
        let words = BannedWords(["spam"])
        #expect(words.hasMatch(in: "buy \(text) now"), "\(text)")
        #expect(words.masked(text)?.contains("m") == false, "\(text)")
    }

    @Test("Letters of one script still match words of that script, in both cases")
    func otherScripts() {
        for (word, text) in [
            ("вода", "ВОДА"), ("ругань", "Ругань"), ("κακός", "ΚΑΚΟΣ"), ("мой", "МОЙ"), ("ёлка", "Ёлка"),
        ] {
            #expect(BannedWords([word]).hasMatch(in: text), "\(word)")
        }
        #expect(!BannedWords(["lồn"]).hasMatch(in: "lon") && BannedWords(["lồn"]).hasMatch(in: "LỒN"))
        #expect(!BannedWords(["мои"]).hasMatch(in: "мой") && !BannedWords(["ano"]).hasMatch(in: "año"))
    }

    @Test("Many words are found in one pass, including words inside other words")
    func many() {
        let words = BannedWords(["he", "she", "his", "hers", "she said", "说坏", "坏话"])
        #expect(words.masked("she said: his, hers, he, there") == "*** ****: ***, ****, **, there")
        #expect(words.masked("说坏话") == "***")
        #expect(BannedWords([]).isEmpty && BannedWords(["", "\u{200B}"]).isEmpty)
    }

    @Test("A long text is checked against ten thousand words in seconds")
    func cost() {
        let words = BannedWords((0..<10_000).map { "word\($0)" })
        let text = String(repeating: "wordwordword word9999x ", count: 5000)
        let start = ContinuousClock.now
        #expect(!words.hasMatch(in: text))
        #expect(words.hasMatch(in: text + "word9999"))
        #expect(ContinuousClock.now - start < .seconds(10))
    }
}
