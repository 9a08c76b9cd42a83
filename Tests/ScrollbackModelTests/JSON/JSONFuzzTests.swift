import Foundation
import ScrollbackModel
import Testing

/// Feeds mutated texts to the reader and compares it with Foundation.
///
/// The reader must not crash, and both must accept the same texts. `isExpectedDifference` lists the exceptions and the
/// parts of RFC 8259 that permit them.
@Suite("JSON fuzz")
struct JSONFuzzTests {
    private static let seeds = [
        #"{"a":[1,2.5,-3e2,true,false,null,"x\n\u00e9\ud83d\ude00"],"b":{"c":{}},"d":"é😀"}"#,
        #"{"conversation":"group:swift","seq":12,"n":11,"id":"0198f3c2-7c1e-7000-8000-0123456789ab","rev":0}"#,
        #"[[],[[]],{"k":[0,-0,0.0,1E+2,1e-2]},"\"\\\/\b\f\n\r\t"]"#,
        "\"مرحبا\"", "-12.75e+3", " { \"a\" : [ 1 , 2 ] , \"\" : null } ", "true", "[\"\",\" \",\"\u{7F}\"]",
    ]

    private static let pieces: [[UInt8]] =
        [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "0", "1", "-", ".", "e", "+", " ", "\n", "\t", "null", "true",
            "\\u00",
            "\\ud83d", "\\ude00", "\u{0}", "\u{1F}", "é", "/", "a", "\u{FEFF}", "[[[[[[[[",
        ].map { Array($0.utf8) } + [[0x80], [0xFF], [0xED, 0xA0, 0x80], [0xC3]]

    @Test("Mutated texts never crash the reader, and Foundation accepts the same texts", arguments: 1...8)
    func mutations(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<1_500 {
            var bytes = Array(random.pick(Self.seeds).utf8)
            for _ in 0...random.below(4) { Self.mutate(&bytes, &random) }
            let ours = Self.isJSON(bytes)
            let theirs = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            if ours != theirs, !Self.isExpectedDifference(bytes, ours: ours) {
                Issue.record(
                    "JSONReader \(ours), Foundation \(theirs): \(String(decoding: bytes, as: UTF8.self)) \(bytes)")
                return
            }
        }
    }

    @Test("A value that was read is returned byte for byte, and is valid JSON again", arguments: 1...4)
    func survivors(seed: UInt64) throws {
        var random = SplitMix64(seed: 1_000 + seed)
        for _ in 0..<1_500 {
            var bytes = Array(random.pick(Self.seeds).utf8)
            for _ in 0...random.below(3) { Self.mutate(&bytes, &random) }
            guard var reader = try? JSONReader(bytes), let value = try? reader.raw(), (try? reader.end()) != nil else {
                continue
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.utf8.elementsEqual(bytes))
            #expect(Array(value.text.utf8) == Array(text.trimmingCharacters(in: Self.space).utf8))
            #expect(try RawJSON(value.text) == value)
        }
    }

    private static let space = CharacterSet(charactersIn: " \t\n\r")

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        do {
            var reader = try JSONReader(bytes)
            try reader.skip()
            try reader.end()
            return true
        } catch {
            #expect(error.code == .malformed)
            return false
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        let at = random.below(bytes.count + 1)
        switch random.below(6) {
        case 0: bytes.insert(contentsOf: random.pick(pieces), at: at)
        case 1: if at < bytes.count { bytes.remove(at: at) }
        case 2: if at < bytes.count { bytes[at] = UInt8(random.below(256)) }
        case 3: if at < bytes.count { bytes.replaceSubrange(at..<at + 1, with: random.pick(pieces)) }
        case 4: bytes.removeSubrange(at..<min(bytes.count, at + random.below(5)))
        default:
            let end = min(bytes.count, at + random.below(12))
            bytes.insert(contentsOf: bytes[at..<end], at: random.below(bytes.count + 1))
        }
    }

    /// Whether the reader and Foundation may disagree about a text.
    ///
    /// - A byte order mark, UTF-16 or UTF-32: Foundation detects them, but RFC 8259, section 8.1, allows only UTF-8
    ///   without a mark.
    /// - Numbers beyond the range of a `Double`: Foundation refuses them, and the reader returns their bytes.
    /// - An escaped half of a surrogate pair, which has no meaning (section 8.2): the reader refuses it.
    /// - Nesting deeper than the reader's limit of 64, but not deeper than Foundation's limit of 512.
    /// - A comma before the end of an array: Foundation accepts it, and the grammar doesn't.
    private static func isExpectedDifference(_ bytes: [UInt8], ours: Bool) -> Bool {
        if !ours {
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) || bytes.prefix(4).contains(0) { return true }
            if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { return true }
            let dense = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if zip(dense, dense.dropFirst()).contains(where: { $0 == UInt8(ascii: ",") && $1 == UInt8(ascii: "]") }) {
                return true
            }
            return bytes.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") } > 64
        }
        return hasHugeNumber(bytes)
    }

    private static func hasHugeNumber(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(whereSeparator: { !"0123456789+-.eE".contains($0) })
            .contains { piece in Double(piece).map { !$0.isFinite } ?? false }
    }
}
