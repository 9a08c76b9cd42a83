import Crypto
package import Foundation
import ScrollbackModel

/// The SHA-256 hash of a blob, which identifies it, so that equal blobs are stored once.
package struct BlobID: Hashable, Sendable {
    /// The 32 bytes of the hash.
    package let bytes: [UInt8]

    /// Creates an ID from 32 bytes.
    ///
    /// - Returns: `nil` if there are not exactly 32 bytes.
    package init?(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Creates an ID from 64 hexadecimal digits in lower case.
    package init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap(Self.value)
        guard digits.count == 64, text.utf8.count == 64 else { return nil }
        bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    package init(of content: some DataProtocol) {
        bytes = Array(SHA256.hash(data: content))
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}

extension BlobID: CustomStringConvertible, Comparable {
    /// The hexadecimal representation.
    package var description: String { bytes.hexadecimal }

    package static func < (a: BlobID, b: BlobID) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}

/// Computes a ``BlobID`` incrementally.
package struct BlobHasher: Sendable {
    private var hash = SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    package func finish() -> BlobID {
        // A SHA-256 hash has 32 bytes, so the fallback is never used.
        BlobID(Array(hash.finalize())) ?? BlobID(of: Data())
    }
}
