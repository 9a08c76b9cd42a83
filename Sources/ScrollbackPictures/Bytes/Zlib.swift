import CZlib
import Foundation

/// The functions of zlib that PNG files need.
enum Zlib {
    /// Inflates a zlib stream (RFC 1950).
    ///
    /// - Parameter limit: The maximum size of the stream and of the result in bytes, which also bounds the memory.
    /// - Throws: `PictureError.corrupt` if the stream is damaged or truncated, or exceeds the limit.
    static func inflate(_ stream: Bytes, atMost limit: Int) throws(PictureError) -> Data {
        guard stream.count <= limit else { throw .corrupt }
        let input = [UInt8](stream.copy)
        var status = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var length = uLongf(limit)
            status = uncompress(buffer.baseAddress, &length, input, uLong(input.count))
            count = status == Z_OK ? Int(length) : 0
        }
        guard status == Z_OK else { throw .corrupt }
        return Data(output)
    }

    /// The CRC-32 of a chunk (PNG, annex D).
    static func checksum(of chunk: Data) -> UInt32 {
        UInt32(crc32(0, [UInt8](chunk), uInt(chunk.count)))
    }
}
