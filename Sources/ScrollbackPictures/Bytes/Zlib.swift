import CZlib
import Foundation

/// The functions of zlib that PNG files need.
enum Zlib {
    /// Inflates a zlib stream (RFC 1950), whose checksum may be wrong or missing.
    ///
    /// - Parameter limit: The maximum size of the stream and of the result in bytes, which also bounds the memory.
    /// - Throws: `PictureError.corrupt` if the data is damaged or truncated, or exceeds the limit.
    static func inflate(_ stream: Bytes, atMost limit: Int) throws(PictureError) -> Data {
        guard stream.count <= limit, try stream.byte(at: 0) & 15 == 8, try stream.number(at: 0, bytes: 2) % 31 == 0,
            try stream.byte(at: 1) & 0x20 == 0
        else { throw .corrupt }
        var input = [UInt8](try stream.part(from: 2).copy)
        var status = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                var state = z_stream()
                state.next_in = input.baseAddress
                state.avail_in = uInt(input.count)
                state.next_out = output.baseAddress
                state.avail_out = uInt(limit)
                // A negative window size selects the data without header and checksum.
                status = inflateInit2_(&state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
                guard status == Z_OK else { return }
                status = CZlib.inflate(&state, Z_FINISH)
                count = limit - Int(state.avail_out)
                inflateEnd(&state)
            }
        }
        guard status == Z_STREAM_END else { throw .corrupt }
        return Data(output)
    }

    /// The CRC-32 of a chunk (PNG, annex D).
    static func checksum(of chunk: Data) -> UInt32 {
        UInt32(crc32(0, [UInt8](chunk), uInt(chunk.count)))
    }
}
