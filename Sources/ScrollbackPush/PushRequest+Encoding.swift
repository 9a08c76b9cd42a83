import Foundation

extension PushRequest {
    /// Creates a request with form fields.
    ///
    /// The content type is `application/x-www-form-urlencoded` unless `headers` contains another one.
    init(url: String, headers: [String: String] = [:], form: [String: String]) {
        let fields = form.sorted { $0.key < $1.key }
        let body = fields.map { "\($0.key.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
        let type = ["content-type": "application/x-www-form-urlencoded"]
        self.init(url: url, headers: type.merging(headers) { $1 }, body: Array(body.utf8))
    }

    /// Creates a request with a JSON body.
    init(url: String, headers: [String: String] = [:], json: [UInt8]) {
        let type = ["content-type": "application/json;charset=UTF-8"]
        self.init(url: url, headers: type.merging(headers) { $1 }, body: json)
    }
}

extension String {
    /// Percent-encodes all bytes except the unreserved characters of RFC 3986.
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

/// Encodes a dictionary of strings as a JSON object.
func jsonObject(_ texts: [String: String]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(texts)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}
