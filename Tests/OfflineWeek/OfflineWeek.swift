package import Foundation
package import Scrollback

/// The messages of a user in a week without a network: alternating texts, images and files in many conversations.
package struct OfflineWeek: Sendable {
    package static let conversations = 20

    package init() {}

    package func conversation(of number: Int) -> ConversationID {
        .group(Identifier(stringLiteral: "week\(number % Self.conversations)"))
    }

    package enum Item: Sendable {
        case text(String), image, file(Data)
    }

    package func item(_ number: Int) -> Item {
        switch number % 5 {
        case 3: .image
        case 4: .file(Self.bytes(number))
        default: .text("message \(number), رسالة 🕊")
        }
    }

    /// Metadata that identifies a message by its number.
    package func metadata(_ number: Int) -> RawJSON { RawJSON(known: #"{"week":\#(number)}"#) }

    /// Returns the number of a message; `nil` if the message isn't part of the week.
    package func number(of message: Message) -> Int? {
        guard let text = message.attributes.metadata?.text, text.hasPrefix(#"{"week":"#) else { return nil }
        return Int(text.dropFirst(8).dropLast())
    }

    /// Returns up to 400 KB of pseudorandom bytes that are unique to the number.
    private static func bytes(_ number: Int) -> Data {
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        let count = 1 + number * 37 % 50_000
        var data = Data(capacity: count * 8)
        for _ in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            withUnsafeBytes(of: state.littleEndian) { data.append(contentsOf: $0) }
        }
        return data
    }
}
