import Foundation
import ScrollbackModel
import Testing

@Suite("HTTP dates")
struct HTTPDateTests {
    @Test("A date is read, and other text is refused, also with characters outside of ASCII")
    func reading() {
        #expect(Date(http: "Mon, 23 Nov 2026 09:00:00 GMT") == Date(timeIntervalSince1970: 1_795_424_400))
        for text in ["", "Mon", "23 Nov 2026", "Mon\u{301}24 GMT", "Mön, 23 Nov 2026 09:00:00 GMT", "👍🏽 GMT"] {
            #expect(Date(http: text) == nil, "\(text)")
        }
    }
}
