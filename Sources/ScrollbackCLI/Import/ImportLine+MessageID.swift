import Crypto
import Foundation
import ScrollbackModel
import ScrollbackWire

extension ImportLine {
    /// Returns the message's ID, which is the same for each import of the file.
    ///
    /// This is the line's own ID if it is a UUID. Otherwise the ID is a UUID (RFC 9562, version 8) with the message's
    /// time in Unix milliseconds, and a digest of the line's ID and the conversation. For direct conversations, the
    /// digest includes the channel, because IDs are unique only within a channel.
    ///
    /// Because the time comes first, messages of a batch are next to each other in the server's index of IDs. With a
    /// digest alone, an import wrote twice as many bytes.
    func messageID(in conversation: ConversationID) -> MessageID {
        if let uuid = try? MessageID(id) { return uuid }
        let namespace = conversation.kind == .direct ? "\(conversation)\u{0}\(channel ?? "")" : "\(conversation)"
        let digest = SHA256.hash(data: Data("scrollback import\u{0}\(namespace)\u{0}\(id)".utf8))
        return digest.withUnsafeBytes { bytes in
            let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            let milliseconds = Timetoken(time).rawValue / Timetoken.ticksPerMillisecond
            return MessageID(
                high: milliseconds << 16 | 0x8000 | high & 0xFFF,
                low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
        }
    }
}
