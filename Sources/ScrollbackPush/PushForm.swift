import Foundation

extension PushRequest {
    /// A form: `application/x-www-form-urlencoded`, unless the headers say it otherwise.
    init(url: String, headers: [String: String] = [:], form: [String: String]) {
        let fields = form.sorted { $0.key < $1.key }
        let body = fields.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
        let type = ["content-type": "application/x-www-form-urlencoded"]
        self.init(url: url, headers: type.merging(headers) { $1 }, body: Array(body.utf8))
    }

    /// An object of JSON.
    init(url: String, headers: [String: String] = [:], json: [UInt8]) {
        let type = ["content-type": "application/json;charset=UTF-8"]
        self.init(url: url, headers: type.merging(headers) { $1 }, body: json)
    }
}

extension String {
    /// As forms and paths have it: all but the letters, digits and four signs of RFC 3986 as bytes of UTF-8.
    var percentEncoded: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Sequence<UInt8> {
    /// In hexadecimal, in lower case.
    var hexadecimal: String {
        reduce(into: "") { text, byte in
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
    }
}

/// Texts by name as an object of JSON, whatever is in them.
func jsonObject(_ texts: [String: String]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(texts)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}
