import Foundation

/// Generates small files of several types from bytes.
package enum SampleFile {
    /// Returns a PNG that declares the size and has `content` bytes of pixel data that can't be decoded.
    package static func png(_ width: UInt32, _ height: UInt32, content: Int = 10) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", number(width) + number(height) + [8, 2, 0, 0, 0])
            + chunk("IDAT", (0..<content).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }) + chunk("IEND", [])
    }

    private static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + body
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in content {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return number(UInt32(body.count)) + content + number(~crc)
    }

    /// Returns a GIF of one pixel that is exactly `bytes` long, padded with comments.
    package static func gif(bytes: Int = 35) -> [UInt8] {
        var file = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        var rest = bytes - 35
        if rest > 0 {
            file += [0x21, 0xFE]
            rest -= 3
            while rest > 0 {
                let block = rest > 257 || rest <= 256 ? min(256, rest) : 128
                file += [UInt8(block - 1)] + [UInt8](repeating: 0x20, count: block - 1)
                rest -= block
            }
            file.append(0)
        }
        return file + [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
    }

    /// A JPEG of one gray pixel.
    package static let jpeg: [UInt8] = Array(
        Data(
            base64Encoded: """
                /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDg\
                sLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU\
                FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAABAAEDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAw\
                QFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkK\
                FhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmq\
                KjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEB\
                AQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRob\
                HBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOE\
                hYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+P\
                n6/9oADAMBAAIRAxEAPwDxKiiivyo/v0//2Q==
                """) ?? Data())

    package static let mp3: [UInt8] = Array("ID3".utf8) + [UInt8](repeating: 0, count: 500)
    package static let html: [UInt8] = Array("<html><script>alert(1)</script></html>".utf8)
    package static let svg: [UInt8] = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>1</script></svg>".utf8)
    package static let text: [UInt8] = Array("plain words".utf8)

    /// Returns pseudorandom bytes that match no known file type.
    package static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }
}
