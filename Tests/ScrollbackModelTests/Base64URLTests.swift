import Foundation
import ScrollbackModel
import Testing

@Suite struct Base64URLTests {
    @Test func `Bytes of every length are encoded without padding and decoded with or without it`() {
        for length in 0...64 {
            let bytes = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + length * 101) })
            let text = bytes.base64URL
            #expect(!text.contains { "+/=".contains($0) })
            #expect(Data(base64URL: text) == bytes)
            let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            #expect(Data(base64URL: padded) == bytes)
        }
        #expect(Data([0xFB, 0xFF, 0xFE]).base64URL == "-__-" && Data([0xFB, 0xF0]).base64URL == "-_A")
        #expect(Data(base64URL: "-__-") == Data([0xFB, 0xFF, 0xFE]))
    }

    @Test(arguments: ["a", "abcde", "ab c", "ä", "ab!d"])
    func `Text that is not Base64URL is not decoded`(text: String) {
        #expect(Data(base64URL: text) == nil)
    }
}
