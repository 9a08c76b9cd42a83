import Foundation
import ScrollbackModel
import Testing

@Suite("MessageID")
struct MessageIDTests {
    @Test("A new ID is a UUID of version 7 whose first 48 bits are the time")
    func version7() throws {
        var random = SplitMix64(seed: 1)
        for milliseconds in [0, 1, 1_700_000_000_123, (1 << 48) - 1] as [UInt64] {
            let id = MessageID(at: Date(timeIntervalSince1970: Double(milliseconds) / 1000), using: &random)
            let digits = id.description.replacingOccurrences(of: "-", with: "")
            #expect(UInt64(digits.prefix(12), radix: 16) == milliseconds)
            #expect(Array(digits)[12] == "7")
            #expect("89ab".contains(Array(digits)[16]))
        }
    }

    @Test("Ten thousand IDs of one millisecond differ")
    func uniqueness() {
        var random = SplitMix64(seed: 2)
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(Set((0..<10_000).map { _ in MessageID(at: now, using: &random) }).count == 10_000)
    }

    @Test("The text form is lower case and is accepted in either case")
    func text() throws {
        let text = "0198f3c2-7c1e-7000-8000-0123456789ab"
        #expect(try MessageID(text).description == text)
        #expect(try MessageID(text.uppercased()) == MessageID(text))
        #expect(MessageID(high: 0x0198_f3c2_7c1e_7000, low: 0x8000_0123_4567_89ab).description == text)
    }

    @Test(
        "The error for text that is not a UUID contains the parameter",
        arguments: [
            "", "1", "0198f3c27c1e700080000123456789ab", "zz", "0198f3c2-7c1e-7000-8000-0123456789a",
            "0198f3c2-7c1e-7000-8000-0123456789abc", "0198f3c2-7c1e-7000-80000-123456789ab",
            "0198f3c2-7c1e-7000-8000-0123456789ag", " 198f3c2-7c1e-7000-8000-0123456789ab",
            "+198f3c2-7c1e-7000-8000-0123456789ab", "0x98f3c2-7c1e-7000-8000-0123456789ab",
            "0198f3c2_7c1e-7000-8000-0123456789ab", "0198f3c2-7c1e-7000-8000-0123456789à",
        ])
    func refusals(_ text: String) {
        let error = #expect(throws: ChatError.self) { try MessageID(text, parameter: "replyTo") }
        #expect(error?.code == .invalidParameter)
        #expect(error?.parameter == "replyTo")
    }

    @Test("An ID is parsed as Foundation parses a UUID")
    func parsing() throws {
        for _ in 0..<1000 {
            let uuid = UUID()
            #expect(try MessageID(uuid.uuidString).uuid == uuid)
            #expect(try MessageID(uuid.uuidString.lowercased()).uuid == uuid)
        }
    }

    @Test("A time before 1970 gives an ID with the time 0")
    func early() {
        var random = SplitMix64(seed: 3)
        let id = MessageID(at: Date(timeIntervalSince1970: -5), using: &random)
        #expect(id.description.hasPrefix("00000000-0000-7"))
    }
}
