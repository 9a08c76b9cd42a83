package import Foundation

/// base64url encoding (RFC 4648, section 5).
extension Data {
    /// Decodes base64url text with or without padding.
    package init?(base64URL text: String) {
        var digits = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        while digits.count % 4 != 0 { digits.append(UInt8(ascii: "=")) }
        self.init(base64Encoded: Data(digits))
    }

    /// The data as base64url text without padding.
    package var base64URL: String {
        let digits = base64EncodedData().compactMap { (byte) -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
