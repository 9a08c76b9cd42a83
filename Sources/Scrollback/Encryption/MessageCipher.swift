import Crypto
public import Foundation
public import ScrollbackModel

/// Encrypts what a user says before it leaves the device, with keys that the app has and the server has not.
///
/// Content, `metadata` and `extra` are encrypted by AES-256 in GCM, with a random nonce for each, and bound to their message:
/// nobody without the key can read them, change them or have them come from another person, message or conversation.
/// What the server acts on stays readable: types, mentions, `customType`, `replyTo` and what the push is to say. The
/// bytes of files are not encrypted.
///
/// Give it to ``ChatClient/Configuration/cipher``. Every app that is to read the messages needs the same keys; how they get
/// there is the app's to say.
public struct MessageCipher: Sendable {
    /// A key and its name.
    public struct Key: Sendable {
        /// What messages call it, which the server sees: 1...64 of the characters `a-z A-Z 0-9 . _ : -`.
        public let id: String
        /// Its 32 bytes, from a source of random bytes: a password is no key.
        let bytes: Data

        /// A key and its name, which are checked when a cipher is made of it.
        public init(id: String, key: Data) {
            self.id = id
            bytes = key
        }
    }

    /// The names of its keys, in their order.
    public let keyIDs: [String]
    /// Whether what is sent is encrypted; off, what came encrypted is read and nothing is encrypted.
    public let encrypts: Bool
    private let keys: [String: SymmetricKey]
    private let first: (id: String, key: SymmetricKey)

    /// A cipher that encrypts with the first of some keys and reads with all of them.
    ///
    /// To change keys, give every app the new one as the last first. Once all have it, make it the first; the old one stays
    /// for as long as its messages are to be read.
    ///
    /// - Parameters:
    ///   - keys: one at least, each with a name of its own.
    ///   - encrypts: whether what is sent is encrypted. Off, an app learns to read before others begin to encrypt.
    /// - Throws: `invalid-parameter` naming the key for a name that is empty, used twice or of other characters, and for a key
    ///   that has not 32 bytes.
    public init(keys: [Key], encrypts: Bool = true) throws(ChatError) {
        guard let first = keys.first else { throw .invalidParameter("keys", "must be one key at least") }
        var known: [String: SymmetricKey] = [:]
        for (index, key) in keys.enumerated() {
            guard EncryptedValue.isKeyName(key.id) else {
                throw .invalidParameter("keys[\(index)].id", "must be 1...64 of the characters a-z A-Z 0-9 . _ : -")
            }
            guard known[key.id] == nil else {
                throw .invalidParameter("keys[\(index)].id", "is the name of another key too: each needs its own")
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

// Keys are in no log.
extension MessageCipher: CustomStringConvertible, CustomReflectable {
    /// The names of its keys.
    public var description: String { "MessageCipher(keys: \(keyIDs))" }
    /// The names of its keys.
    public var customMirror: Mirror { Mirror(self, children: ["keyIDs": keyIDs]) }
}

extension MessageCipher.Key: CustomStringConvertible, CustomReflectable {
    /// Its name.
    public var description: String { "MessageCipher.Key(\(id))" }
    /// Its name.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

// MARK: One value

extension MessageCipher {
    /// What a value belongs to, and can be read as nothing else than.
    struct Binding {
        /// Which of a message's values it is.
        enum Part: String {
            case content, metadata, extra
        }

        var part: Part
        var type: MessageType
        /// Its absolute name.
        var conversation: ConversationID
        var message: MessageID

        /// In the order of the format; no field has a line break.
        func bytes(_ key: String) -> Data {
            let fields = [
                "scrollback-message-\(MessageCipher.format)", key, part.rawValue, type.rawValue,
                conversation.description, message.description,
            ]
            return Data(fields.joined(separator: "\n").utf8)
        }
    }

    /// The one format of this version: nonce, what is encrypted and tag, one after the other.
    ///
    /// What is encrypted is the sender's name, a line break and the JSON. The name is in there and not bound beside it, since
    /// an erased person's is replaced by one that stands in for it.
    static let format: Int64 = 1

    func seal(_ json: RawJSON, by sender: UserID, _ binding: Binding) throws(ChatError) -> EncryptedValue {
        do {
            let box = try AES.GCM.seal(
                Data("\(sender)\n\(json.text)".utf8), using: first.key, authenticating: binding.bytes(first.id))
            let data = Data(box.nonce) + box.ciphertext + box.tag
            return EncryptedValue(format: Self.format, key: first.id, data: data.base64EncodedString())
        } catch {
            throw ChatError(.internalError, "the message can't be encrypted", cause: error)
        }
    }

    /// - Throws: `decryption-failed`.
    func open(_ value: EncryptedValue, by sender: UserID, _ binding: Binding) throws(ChatError) -> RawJSON {
        guard value.format == Self.format else {
            throw ChatError(.decryptionFailed, "it is encrypted in a format that this version does not read")
        }
        guard let key = keys[value.key] else { throw Self.missing(value.key, keyIDs) }
        let altered = ChatError(
            .decryptionFailed, "it is not what was encrypted for this message with the key “\(value.key)”")
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
        // An erased person's messages stay, under a name in their place, and are read as before.
        guard name == sender.text || sender.isStandIn else { throw altered }
        do {
            return try RawJSON(json)
        } catch {
            throw altered
        }
    }

    static func missing(_ key: String, _ known: [String]) -> ChatError {
        let rest = known.isEmpty ? "has no keys" : "has \(known.map { "“\($0)”" }.joined(separator: ", "))"
        return ChatError(
            .decryptionFailed, "it is encrypted with the key “\(key)”, which this client does not have: it \(rest)")
    }

    /// Tells sets of keys apart, and says nothing of them: for noticing that others were given than the last time.
    var fingerprint: String {
        keyIDs.sorted().compactMap { id in
            keys[id].map { key in
                let mark = HMAC<SHA256>.authenticationCode(for: Data("scrollback-key".utf8), using: key)
                return "\(id)=\(Data(mark.prefix(9)).base64EncodedString())"
            }
        }.joined(separator: " ")
    }
}
