import Crypto
import Foundation
import ScrollbackModel
import ScrollbackWire

extension ImportLine {
    /// Returns the message's ID, which is the same for each import of the file.
    ///
    /// This is the line's own ID if it is a UUID, or a UUID derived from it (RFC 9562, version 8). For direct
    /// conversations, the derived ID includes the channel, because IDs are unique only within a channel.
    func messageID(in conversation: ConversationID) -> MessageID {
        if let uuid = try? MessageID(id) { return uuid }
        let namespace = conversation.kind == .direct ? "\(conversation)\u{0}\(channel ?? "")" : "\(conversation)"
        let digest = SHA256.hash(data: Data("scrollback import\u{0}\(namespace)\u{0}\(id)".utf8))
        return digest.withUnsafeBytes { bytes in
            let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            return MessageID(
                high: high & ~0xF000 | 0x8000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
        }
    }
}
