import Crypto
public import Foundation
public import ScrollbackModel

/// End-to-end encryption of messages, with keys that the app has and the server does not.
///
/// Content, `metadata` and `extra` are encrypted with AES-256 in GCM mode, each with a random nonce, and bound to their
/// message. Without the key, the server and other parties can't read or change them, or attribute them to another
/// sender, message or conversation. Values that the server needs stay readable: types, mentions, `customType`,
/// `replyTo` and push texts. The bytes of files are not encrypted.
///
/// Pass it to ``ChatClient/Configuration/cipher``. All apps that read the messages need the same keys. Distributing
/// them is the app's responsibility.
public struct MessageCipher: Sendable {
    /// A key with its ID.
    public struct Key: Sendable {
        /// The key's ID, which messages contain and the server sees: 1...64 of the characters `a-z A-Z 0-9 . _ : -`.
        public let id: String
        /// The key: 32 random bytes, not a password.
        let bytes: Data

        /// Creates a key, which is validated when a cipher is created with it.
        public init(id: String, key: Data) {
            self.id = id
            bytes = key
        }
    }

    /// The IDs of the keys, in their order.
    public let keyIDs: [String]
    /// Whether sent messages are encrypted.
    ///
    /// If not, the cipher only decrypts received messages.
    public let encrypts: Bool
    private let keys: [String: SymmetricKey]
    private let first: (id: String, key: SymmetricKey)

    /// Creates a cipher that encrypts with the first of some keys and decrypts with all of them.
    ///
    /// To replace a key, first add the new one after the old one in every app. When all apps have it, move it to the
    /// first position. Keep the old key as long as its messages must be readable.
    ///
    /// - Parameters:
    ///   - keys: At least one key, each with a unique ID.
    ///   - encrypts: Whether sent messages are encrypted. Pass `false` to let apps decrypt before others start to
    ///     encrypt.
    /// - Throws: `invalid-parameter` naming a key whose ID is empty, duplicate or has other characters, or that does
    ///   not have 32 bytes.
    public init(keys: [Key], encrypts: Bool = true) throws(ChatError) {
        guard let first = keys.first else { throw .invalidParameter("keys", "must contain at least one key") }
        var known: [String: SymmetricKey] = [:]
        for (index, key) in keys.enumerated() {
            guard EncryptedValue.isKeyName(key.id) else {
                throw .invalidParameter("keys[\(index)].id", "must be 1...64 of the characters a-z A-Z 0-9 . _ : -")
            }
            guard known[key.id] == nil else {
                throw .invalidParameter("keys[\(index)].id", "is the ID of another key too: each key needs a unique ID")
            }
            guard key.bytes.count == Self.keyBytes else {
                throw .invalidParameter(
                    "keys[\(index)].key", "must be \(Self.keyBytes) bytes, is \(key.bytes.count)", limit: Self.keyBytes)
            }
            known[key.id] = SymmetricKey(data: key.bytes)
        }
        self.keys = known
        self.first = (first.id, SymmetricKey(data: first.bytes))
        keyIDs = keys.map(\.id)
        self.encrypts = encrypts
    }

    private static let keyBytes = 32
}

// Keys must not appear in logs.
extension MessageCipher: CustomStringConvertible, CustomReflectable {
    /// The IDs of the keys.
    public var description: String { "MessageCipher(keys: \(keyIDs))" }
    /// The IDs of the keys.
    public var customMirror: Mirror { Mirror(self, children: ["keyIDs": keyIDs]) }
}

extension MessageCipher.Key: CustomStringConvertible, CustomReflectable {
    /// The key's ID.
    public var description: String { "MessageCipher.Key(\(id))" }
    /// The key's ID.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

// MARK: Encrypting single values

extension MessageCipher {
    /// The context of an encrypted value, outside of which it can't be decrypted.
    struct Binding {
        /// The part of the message that contains the value.
        enum Part: String {
            case content, metadata, extra
        }

        var part: Part
        var type: MessageType
        /// The conversation's absolute ID.
        var conversation: ConversationID
        var message: MessageID

        /// The authenticated data, in the order of the format.
        ///
        /// No field contains a line break.
        func bytes(_ key: String) -> Data {
            let fields = [
                "scrollback-message-\(MessageCipher.format)", key, part.rawValue, type.rawValue,
                conversation.description, message.description,
            ]
            return Data(fields.joined(separator: "\n").utf8)
        }
    }

    /// The version of the format: nonce, ciphertext and tag, concatenated.
    ///
    /// The plain text is the sender's ID, a line break and the JSON. The sender is part of the plain text instead of
    /// the authenticated data, because the server replaces an erased user's ID with a placeholder.
    static let format: Int64 = 1

    func seal(_ json: RawJSON, by sender: UserID, _ binding: Binding) throws(ChatError) -> EncryptedValue {
        do {
            let box = try AES.GCM.seal(
                Data("\(sender)\n\(json.text)".utf8), using: first.key, authenticating: binding.bytes(first.id))
            let data = Data(box.nonce) + box.ciphertext + box.tag
            return EncryptedValue(format: Self.format, key: first.id, data: data.base64EncodedString())
        } catch {
            throw ChatError(.internalError, "The message can't be encrypted.", cause: error)
        }
    }

    /// - Throws: `decryption-failed`.
    func open(_ value: EncryptedValue, by sender: UserID, _ binding: Binding) throws(ChatError) -> RawJSON {
        guard value.format == Self.format else {
            throw ChatError(
                .decryptionFailed, "The message is encrypted in a format that this version does not support.")
        }
        guard let key = keys[value.key] else { throw Self.missing(value.key, keyIDs) }
        let altered = ChatError(
            .decryptionFailed, "The message was altered, or encrypted with another key than “\(value.key)”.")
        let text: Data
        do {
            guard let data = Data(base64Encoded: value.data) else { throw altered }
            text = try AES.GCM.open(
                try AES.GCM.SealedBox(combined: data), using: key, authenticating: binding.bytes(value.key))
        } catch {
            var failure = altered
            failure.cause = error
            throw failure
        }
        let parts = text.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let name = String(validating: parts[0], as: UTF8.self),
            let json = String(validating: parts[1], as: UTF8.self)
        else { throw altered }
        // The sender of an erased user's message is a placeholder, and the message must stay readable.
        guard name == sender.text || sender.isErasedUser else { throw altered }
        do {
            return try RawJSON(json)
        } catch {
            throw altered
        }
    }

    static func missing(_ key: String, _ known: [String]) -> ChatError {
        let rest =
            known.isEmpty
            ? "The client has no keys" : "The client has \(known.map { "“\($0)”" }.joined(separator: ", "))"
        return ChatError(
            .decryptionFailed,
            "The message is encrypted with the key “\(key)”, which this client does not have. \(rest).")
    }

    /// A fingerprint that detects a changed set of keys without revealing them.
    var fingerprint: String {
        keyIDs.sorted().compactMap { id in
            keys[id].map { key in
                let mark = HMAC<SHA256>.authenticationCode(for: Data("scrollback-key".utf8), using: key)
                return "\(id)=\(Data(mark.prefix(9)).base64EncodedString())"
            }
        }.joined(separator: " ")
    }
}
