import ScrollbackModel
import ScrollbackSearch
import TextAnalysis
import Testing

/// Tests which parts of a text a query matches.
@Suite("Query matching")
struct QueryMatchingTests {
    /// Returns the highlighted parts, or `nil` if the text does not match.
    private func found(_ query: String, in text: String) -> [String]? {
        let message = Message(
            conversation: .group("g"), seq: 1, countedIndex: 1, id: MessageID(high: 0, low: 1),
            timetoken: Timetoken(rawValue: 1),
            epoch: Epoch(rawValue: 1), sender: "a", type: .text, content: .text(text))
        guard let ranges = SearchTerms(query).ranges(in: text) else { return nil }
        let hit = SearchHit(message: message, ranges: ranges)
        return hit.highlights.map { String(hit.text[$0]) }
    }

    @Test(
        "Case, accents, width and compatibility forms do not matter",
        arguments: [
            ("HELLO", "say hello", ["hello"]), ("cafe", "ein Café!", ["Café"]), ("CAFÉ", "cafe", ["cafe"]),
            ("cafe", "cafe\u{301}s", ["cafe\u{301}s"]), ("strasse", "Große Straße", ["Straße"]),
            ("malmo", "Malmö", ["Malmö"]), ("smorrebrod", "smørrebrød", ["smørrebrød"]), ("lodz", "Łódź", ["Łódź"]),
            ("οδος", "ΟΔΌΣ", ["ΟΔΌΣ"]), ("ПРИВЕТ", "привет", ["привет"]), ("елка", "Ёлка", ["Ёлка"]),
            ("istanbul", "İstanbul", ["İstanbul"]), ("duong", "đường", ["đường"]),
            ("swift", "Ｓｗｉｆｔ言語", ["Ｓｗｉｆｔ"]), ("バグ", "ﾊﾞｸﾞがある", ["ﾊﾞｸﾞ"]), ("ﾊﾞｸﾞ", "このバグ", ["バグ"]),
            ("fi", "ﬁnal", ["ﬁnal"]), ("hello", "𝐇𝐞𝐥𝐥𝐨 there", ["𝐇𝐞𝐥𝐥𝐨"]), ("123", "١٢٣ و", ["١٢٣"]),
            ("한국", "한국어", ["한국"]),
        ])
    func folded(query: String, text: String, highlights: [String]) {
        #expect(found(query, in: text) == highlights)
    }

    @Test("Different letters that look similar do not match")
    func otherLetters() {
        #expect(found("мои", in: "мой дом") == nil)
        #expect(found("мой", in: "мой дом") == ["мой"])
        #expect(found("мой", in: "мои\u{306} дом") == ["мои\u{306}"])
        #expect(found("がく", in: "かくす") == nil)
        #expect(found("がく", in: "か\u{3099}くせい") == ["か\u{3099}く"])
    }

    @Test(
        "Scripts without spaces match any part of a sentence, even a single character",
        arguments: [
            ("東京", "明日は東京へ行きます", ["東京"]), ("京", "明日は東京へ", ["京"]), ("東京タワー", "昨日東京タワーに登った", ["東京タワー"]),
            ("ます", "明日は東京へ行きます", ["ます"]), ("す", "行きます。", ["す"]), ("ねこ", "黒いねこがいる", ["ねこ"]),
            ("\"東京\"", "東京へ", ["東京"]), ("\"京\"", "東京へ", ["京"]), ("今天 天气", "今天的天气很好", ["今天", "天气"]),
            ("아이폰", "새아이폰을샀다", ["아이폰"]), ("สวัสดี", "คำว่าสวัสดีครับ", ["สวัสดี"]),
            ("日本語swift", "これは日本語Swiftの本", ["日本語Swift"]),
            ("swift言語", "Swift言語です", ["Swift言語"]),
        ])
    func unspaced(query: String, text: String, highlights: [String]) {
        #expect(found(query, in: text) == highlights)
    }

    @Test("Parts of a word or phrase must be adjacent in the text")
    func notAdjacent() {
        #expect(found("東都", in: "東京都") == nil)
        #expect(found("\"data migration\"", in: "migration of data") == nil)
        #expect(found("file.name", in: "a name in a file") == nil)
    }

    @Test(
        "Arabic and Hebrew match with and without marks",
        arguments: [
            ("كتاب", "قرأتُ كِتَابًا", ["كِتَابًا"]), ("كِتَاب", "كتاب جديد", ["كتاب"]),
            ("العربية", "اللغة العربيّة", ["العربيّة"]),
            ("احمد", "أحمد هنا", ["أحمد"]), ("إلى", "الى البيت", ["الى"]), ("مدرسه", "مدرسة", ["مدرسة"]),
            ("سلام", "ســـلام", ["ســـلام"]), ("شلום", "x", nil), ("שלום", "שָׁלוֹם", ["שָׁלוֹם"]),
            ("میخواهم", "می\u{200C}خواهم", ["می\u{200C}خواهم"]), ("کتاب", "كتاب", ["كتاب"]),
            ("مرحبا", "مرحبا 👋🏽", ["مرحبا"]), ("👋", "مرحبا 👋🏽", ["👋🏽"]),
        ] as [(String, String, [String]?)])
    func rightToLeft(query: String, text: String, highlights: [String]?) {
        #expect(found(query, in: text) == highlights)
    }

    @Test(
        "An emoji is a word and matches as a prefix of skin tones and joined emoji",
        arguments: [
            ("😂", "lol😂😂 yes", ["😂😂"]), ("👍", "ok 👍🏽", ["👍🏽"]), ("👍🏽", "ok 👍", nil), ("👍🏽", "ok 👍🏽!", ["👍🏽"]),
            ("👩‍💻", "she is 👩‍💻", ["👩‍💻"]), ("👩", "she is 👩‍💻", ["👩‍💻"]), ("💻", "she is 👩‍💻", nil),
            ("🇫🇷", "vive la 🇫🇷🇩🇪", ["🇫🇷"]), ("🇩🇪", "vive la 🇫🇷🇩🇪", ["🇩🇪"]),
            ("❤", "i ❤️ u", ["❤️"]), ("❤️", "i ❤ u", ["❤"]),
            ("1️⃣", "step 1️⃣", ["1️⃣"]), ("#️⃣", "key #️⃣", ["#️⃣"]),
            ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", "go 🏴󠁧󠁢󠁥󠁮󠁧󠁿", ["🏴󠁧󠁢󠁥󠁮󠁧󠁿"]), ("50€", "costs 50€", ["50€"]),
            ("→", "a → b", ["→"]),
        ] as [(String, String, [String]?)])
    func emoji(query: String, text: String, highlights: [String]?) {
        #expect(found(query, in: text) == highlights)
    }

    @Test(
        "Names, tags, addresses and code match by their parts",
        arguments: [
            ("swift", "#swift", ["swift"]), ("#swift", "about #SwiftUI", ["Swift"]), ("@bob", "hi @bob!", ["bob"]),
            ("github", "https://github.com/foo/bar?x=1", ["github"]),
            ("foo/bar", "https://github.com/foo/bar", ["foo/bar"]),
            ("https://github.com/foo", "see https://github.com/foo/bar", ["https://github.com/foo"]),
            ("user", "snake_user_name", ["user"]), ("snake_user", "snake_user_name", ["snake_user"]),
            ("name", "getUserName()", ["Name"]), ("getusername", "getUserName()", ["getUserName"]),
            ("username", "getUserName()", ["UserName"]), ("getUserName", "getusername", ["getusername"]),
            ("httpserver", "HTTPServer", ["HTTPServer"]), ("server", "HTTPServer", ["Server"]),
            ("readme.md", "the README.md file", ["README.md"]), ("nodejs", "Node.js rocks", ["Node.js"]),
            ("node.js", "nodejs rocks", ["nodejs"]), ("email", "an e-mail", ["e-mail"]),
            ("e-mail", "an email", ["email"]),
            ("dont", "don’t", ["don’t"]), ("don't", "dont", ["dont"]), ("homme", "l'homme", ["homme"]),
            ("c++", "C++11 and C", ["C++"]), ("c++", "これはC++です", ["C++"]), ("c#", "はC#。", ["C#"]),
            ("c++", "C++\u{301}", nil), ("c#", "C# is", ["C#"]), ("utf8", "utf-8", ["utf-8"]),
            ("2014-11-30", "on 2014-11-30", ["2014-11-30"]), ("usa", "U.S.A.", ["U.S.A"]), ("314", "is 3.14", nil),
            ("co\u{AD}operate", "cooperate", ["cooperate"]), ("cooperate", "co\u{AD}operate", ["co\u{AD}operate"]),
        ] as [(String, String, [String]?)])
    func partsOfNamesMatch(query: String, text: String, highlights: [String]?) {
        #expect(found(query, in: text) == highlights)
    }

    @Test(
        "All words must match as prefixes, and quoted words as a phrase of whole words",
        arguments: [
            ("mig data", "data migration", ["data", "migration"]), ("mig xyz", "data migration", nil),
            ("igration", "data migration", nil), ("\"data mig\"", "data migration", nil),
            ("\"data migration\" plan", "planned: data migration", ["planned", "data migration"]),
            ("“data migration”", "data migration", ["data migration"]), ("\"data mig", "data migration", nil),
            ("\"\" data", "data", ["data"]),
        ] as [(String, String, [String]?)])
    func allWordsMustMatch(query: String, text: String, highlights: [String]?) {
        #expect(found(query, in: text) == highlights)
    }

    @Test(
        "FTS5 syntax in a query is plain text",
        arguments: [
            ("AND", "this and that", ["and"]), ("cats OR dogs", "cats dogs", nil),
            ("cats OR dogs", "cats or dogs", ["cats", "or", "dogs"]),
            ("NEAR(a b)", "near a b", ["near a", "b"]), ("words:hello", "words hello", ["words hello"]),
            ("hel*", "hello", ["hello"]),
            ("^hello", "oh hello", ["hello"]), ("-hello", "hello", ["hello"]), ("{hello}", "hello", ["hello"]),
            ("hello)", "hello", ["hello"]), ("'; DROP TABLE entry", "drop table entry", ["drop", "table", "entry"]),
            ("a\u{0}b", "a b", ["a b"]),
        ] as [(String, String, [String]?)])
    func syntax(query: String, text: String, highlights: [String]?) {
        #expect(found(query, in: text) == highlights)
    }

    @Test(
        "A query of punctuation alone matches nothing",
        arguments: ["", " ", "...", "\"\"", "\"", "()*", ":-)", "\u{0}", "\u{200D}"])
    func punctuationMatchesNothing(query: String) {
        #expect(SearchTerms(query).isEmpty)
        #expect(found(query, in: "anything ... () :-)") == nil)
    }
}
