import ContractRows
import Foundation
import Scrollback
import ScrollbackModel
import Testing

@Suite("End-to-end encryption of messages")
struct MessageCipherTests {
    private static let november = MessageCipher.Key(id: "2026-11", key: Data(0..<32))
    private static let may = MessageCipher.Key(id: "2026-05", key: Data(repeating: 7, count: 32))
    private let group = ConversationID.group("swift")

    private func messageEncryption(_ user: UserID, _ keys: [MessageCipher.Key] = [november]) throws -> MessageEncryption
    {
        MessageEncryption(user: user, cipher: keys.isEmpty ? nil : try MessageCipher(keys: keys))
    }

    /// The message that recipients get for a submission.
    private func message(
        _ submission: Submission, in conversation: ConversationID? = nil, by sender: UserID = "alice"
    ) -> Message {
        Message(
            conversation: conversation ?? group, seq: 1, countedIndex: 1, id: submission.id,
            timetoken: Timetoken(rawValue: 1),
            epoch: Epoch(rawValue: 1), sender: sender, type: submission.content.type, content: submission.content,
            attributes: submission.attributes)
    }

    private func submission(_ content: MessageContent = .text("high water"), _ number: UInt64 = 1) -> Submission {
        Submission(id: MessageID(high: 0x7000, low: number), content: content)
    }

    // MARK: Keys

    @Test("Invalid and duplicate encryption keys are refused by name")
    func keys() {
        func parameter(_ keys: [MessageCipher.Key]) -> String? {
            (#expect(throws: ChatError.self) { try MessageCipher(keys: keys) })?.parameter
        }
        #expect(parameter([]) == "keys")
        #expect(parameter([Self.may, .init(id: "short", key: Data(repeating: 1, count: 31))]) == "keys[1].key")
        #expect(parameter([.init(id: "long", key: Data(repeating: 1, count: 33))]) == "keys[0].key")
        #expect(parameter([.init(id: "", key: Data(0..<32))]) == "keys[0].id")
        #expect(parameter([.init(id: "a\nb", key: Data(0..<32))]) == "keys[0].id")
        #expect(parameter([.init(id: String(repeating: "x", count: 65), key: Data(0..<32))]) == "keys[0].id")
        #expect(parameter([Self.may, Self.november, Self.may]) == "keys[2].id")
    }

    @Test("Descriptions of a cipher and its keys do not contain key bytes")
    func secrecy() throws {
        let key = MessageCipher.Key(id: "2026-11", key: Data("an unlikely key of 32 bytes ....".utf8))
        let cipher = try MessageCipher(keys: [key])
        for value in [key, cipher, MessageEncryption(user: "alice", cipher: cipher)] as [Any] {
            var text = "\(value) \(String(reflecting: value))"
            dump(value, to: &text)
            #expect(!text.contains("unlikely") && !text.contains("0x") && text.contains("2026-11"), "\(text)")
        }
    }

    // MARK: Encryption and decryption

    @Test(
        "Every content type, metadata and extra decrypt byte for byte, and the ciphertext reveals none of them",
        .rows(230))
    func types() throws {
        let (alice, bob) = (try messageEncryption("alice"), try messageEncryption("bob"))
        let quote = MessageContent.reference(
            Quote("secret-1", id: MessageID(high: 1, low: 2), sender: "carol", content: .text("secret-2")))
        let file = MediaID()
        var contents: [MessageContent] = [
            .text("secret-3 \u{0}\"\\ مرحبا 👨‍👩‍👧"), .text(""), quote,
            try .location(Location(latitude: 1, longitude: 2, name: "secret-4")),
            try .command("secret-5", data: RawJSON("[1.50]")),
            try MessageContent(type: .notice, json: RawJSON(#"{"text":"secret-6"}"#)),
            try MessageContent(type: "app:poll", json: RawJSON(#"{ "z":1.0, "files":["\#(file)"], "a":"secret-7" }"#)),
        ]
        for type in MessageType.media.sorted(by: { $0.rawValue < $1.rawValue }) {
            contents.append(.media(type, Media(.hosted(file), name: "secret-8.jpg", size: 1)))
            contents.append(.media(type, Media(.remote(try #require(URL(string: "https://secret-9.example/a"))))))
        }
        for (number, content) in contents.enumerated() {
            var sent = submission(content, UInt64(number))
            sent.attributes = MessageAttributes(
                mentions: .users(["bob"], pushText: "seen"), metadata: try RawJSON(#"{"m": "secret-10"}"#),
                extra: try RawJSON(#"["secret-11", 1.50]"#), customType: "tide")
            let sealed = try alice.seal(sent, to: group)
            #expect(!"\(sealed)".contains("secret"), "\(sealed)")
            #expect(sealed.id == sent.id && sealed.content.type == content.type)
            #expect(sealed.content.fileReferences.map(\.id) == content.fileReferences.map(\.id))
            #expect(sealed.attributes.mentions == sent.attributes.mentions && sealed.attributes.customType == "tide")
            // Converts the content as a server does.
            let travelled = try MessageContent(type: content.type, json: RawJSON(sealed.content.json.text))
            #expect(travelled == sealed.content)
            let read = bob.open(message(sealed))
            #expect(read.decryptionError == nil && read.isEncrypted)
            #expect(read.content == content && read.attributes == sent.attributes)
            // A new nonce gives other bytes.
            #expect(try alice.seal(sent, to: group).content != sealed.content)
        }
    }

    @Test("A message that another implementation encrypted in the documented format can be decrypted")
    func knownAnswer() throws {
        // Encrypted with Python (cryptography 48, AESGCM), nonce 100...111, as Documentation/protocol.md describes.
        let data =
            "ZGVmZ2hpamtsbW5vKXe3BRzjLbxKByec+F9IJeUbgtIhtXmqAAkdaMuUn3mkybBfwJi5eRZmyYtmwoIjeE7kYMrFqPw="
        let json = try RawJSON(#"{"encrypted":{"format":1,"key":"2026-11","data":"\#(data)"}}"#)
        let sent = Submission(
            id: try MessageID("0198f3c2-7c1e-7000-8000-0123456789ab"),
            content: try MessageContent(type: .text, json: json))
        let read = try messageEncryption("bob").open(message(sent, in: .direct("alice")))
        #expect(read.content?.json.text == #"{"text":"التيار 07:10 🌊"}"#, "\(String(describing: read.decryptionError))")
        #expect(read.isEncrypted && read.decryptionError == nil)
    }

    @Test("Encryption and decryption accept every form of a direct or community conversation ID")
    func names() throws {
        let (alice, bob) = (try messageEncryption("alice"), try messageEncryption("bob"))
        let direct = try alice.seal(submission(), to: .direct("bob"))
        #expect(bob.open(message(direct, in: .direct("alice"))).text == "high water")
        #expect(bob.open(message(direct, in: .direct(between: "bob", and: "alice"))).text == "high water")
        let city = try alice.seal(submission(), to: .community("city"))
        #expect(bob.open(message(city, in: .community("city", channel: "default"))).text == "high water")
    }

    @Test("A message that was sent without encryption is readable and marked as not encrypted")
    func plain() throws {
        var sent = submission()
        let read = try messageEncryption("bob").open(message(sent))
        #expect(read.text == "high water" && !read.isEncrypted && read.decryptionError == nil)
        // Plain metadata next to encrypted content may not come from the sender.
        sent = try messageEncryption("alice").seal(sent, to: group)
        sent.attributes.metadata = try RawJSON("{}")
        let mixed = try messageEncryption("bob").open(message(sent))
        #expect(mixed.text == "high water" && !mixed.isEncrypted && mixed.decryptionError == nil)
        // A cipher with `encrypts: false` sends messages unencrypted.
        let reader = MessageEncryption(user: "alice", cipher: try MessageCipher(keys: [Self.november], encrypts: false))
        #expect(try reader.seal(submission(), to: group) == submission())
    }

    // MARK: Undecryptable messages

    private func refused(_ message: Message, by user: UserID = "bob", _ keys: [MessageCipher.Key] = [november]) throws
        -> ChatError
    {
        let read = try messageEncryption(user, keys).open(message)
        #expect(
            read.content == message.content && read.attributes == message.attributes, "The message must be unchanged.")
        #expect(read.text == nil && read.searchableText == nil)
        let error = try #require(read.decryptionError)
        #expect(error.code == .decryptionFailed && !error.isTemporary)
        return error
    }

    @Test("A message without its key is unchanged and has an error that names the key", .rows(255))
    func missingKeyIsNamed() throws {
        let sealed = message(try messageEncryption("alice").seal(submission(), to: group))
        for keys in [[], [Self.may]] {
            #expect(try refused(sealed, keys).message.contains("“2026-11”"))
        }
        let renamed = MessageCipher.Key(id: "2026-11", key: Data(repeating: 9, count: 32))
        #expect(try refused(sealed, [renamed]).message.contains("was altered"))
    }

    @Test("After a key change, older messages are readable while their key is configured", .rows(230, 255))
    func rotation() throws {
        let old = message(try messageEncryption("alice", [Self.may]).seal(submission(), to: group))
        let new = message(
            try messageEncryption("alice", [Self.november, Self.may]).seal(submission(.text("now")), to: group))
        #expect(new.content?.encrypted?.key == "2026-11")
        let both = try messageEncryption("bob", [Self.may, Self.november])
        #expect(both.open(old).text == "high water" && both.open(new).text == "now")
        #expect(try refused(old, [Self.november]).message.contains("2026-05"))
    }

    @Test("A message with any flipped bit is not decrypted", .rows(255))
    func alteredMessageIsNotDecrypted() throws {
        let sealed = try messageEncryption("alice").seal(submission(), to: group)
        let value = try #require(sealed.content.encrypted)
        let data = try #require(Data(base64Encoded: value.data))
        func forged(_ data: Data) -> Message {
            var forged = sealed
            forged.content = .encrypted(
                .text, EncryptedValue(format: 1, key: "2026-11", data: data.base64EncodedString()), files: [])
            return message(forged)
        }
        #expect(try messageEncryption("bob").open(forged(data)).text == "high water")
        for index in data.indices {
            var other = data
            other[index] ^= 1 << UInt8(index % 8)
            _ = try refused(forged(other))
        }
        for count in [0, 11, 12, 27, 28, data.count - 1] { _ = try refused(forged(data.prefix(count))) }
        var odd = sealed
        odd.content = .encrypted(.text, EncryptedValue(format: 1, key: "2026-11", data: "not base64!"), files: [])
        _ = try refused(message(odd))
        odd.content = .encrypted(.text, EncryptedValue(format: 2, key: "2026-11", data: value.data), files: [])
        #expect(try refused(message(odd)).message.contains("format"))
    }

    @Test(
        "Encrypted content is bound to its conversation, sender, message ID, type, key and field",
        .rows(255))
    func contentIsBoundToItsContext() throws {
        var sent = submission()
        sent.attributes.metadata = try RawJSON(#"{"text":"meta"}"#)
        let sealed = try messageEncryption("alice", [Self.november, Self.may]).seal(sent, to: group)
        var only = sealed
        only.attributes.metadata = nil
        _ = try refused(message(only, in: .group("other")))
        _ = try refused(message(only, in: .direct("alice")))
        _ = try refused(message(only, by: "mallory"))
        _ = try refused(message(Submission(id: MessageID(high: 9, low: 9), content: only.content)))
        let value = try #require(only.content.encrypted)
        _ = try refused(message(Submission(id: only.id, content: .encrypted("app:poll", value, files: []))))
        let twin = EncryptedValue(format: 1, key: "2026-05", data: value.data)
        let same = MessageCipher.Key(id: "2026-05", key: Data(0..<32))
        _ = try refused(
            message(Submission(id: only.id, content: .encrypted(.text, twin, files: []))), [Self.november, same])
        let metadata = try #require(sealed.attributes.metadata?.encrypted)
        _ = try refused(message(Submission(id: only.id, content: .encrypted(.text, metadata, files: []))))
        // The readable fields are still decrypted.
        var half = sealed
        half.attributes.extra = sealed.attributes.metadata
        let read = try messageEncryption("bob").open(message(half))
        #expect(read.text == "high water" && read.attributes.metadata == sent.attributes.metadata)
        #expect(read.attributes.extra == half.attributes.extra && read.decryptionError != nil)
    }

    @Test("An erased user's messages are readable under the replacement sender")
    func erasedUsersMessagesAreReadable() throws {
        let sealed = try messageEncryption("alice").seal(submission(), to: group)
        #expect(try messageEncryption("bob").open(message(sealed, by: .erasedUser())).text == "high water")
        _ = try refused(message(sealed, by: "deleted-"))
        _ = try refused(message(sealed, by: "deleted-alice"))
    }

    @Test("A server event can't be forged by encrypting it, and content that is invalid for its type is not read")
    func forgedNotice() throws {
        let event = try MessageContent(type: .notice, json: RawJSON(#"{"event":"member-left","user":"bob"}"#))
        let error = #expect(throws: ChatError.self) {
            try messageEncryption("alice").seal(submission(event), to: group)
        }
        #expect(error?.code == .invalidParameter && error?.parameter == "content")
        // Alice claims that Bob left. Another program encrypted this with nonce 1...12.
        let data = "AQIDBAUGBwgJCgsMZIYztomei6Qp1AYpZDHQCi8mjJzyH32pxDmNBrKUA7bhlrnlTNeD/ZLRGqQGgIK8mlb9zDSNOEUDeA=="
        let value = EncryptedValue(format: 1, key: "2026-11", data: data)
        let forged = try refused(message(submission(.encrypted(.notice, value, files: []))))
        #expect(forged.message.contains("event"))
        let wrong = MessageContent(known: .text, json: RawJSON(known: #"{"no":"text"}"#))
        _ = try refused(message(try messageEncryption("alice").seal(submission(wrong), to: group)))
    }

    // MARK: Refused sends

    @Test("A message that is too large after encryption is refused with an error that mentions encryption")
    func size() throws {
        let alice = try messageEncryption("alice")
        let fits = submission(.text(String(repeating: "x", count: 97_000)))
        #expect(try alice.seal(fits, to: group).content.json.text.utf8.count <= Limits.standard.contentBytes)
        let large = submission(.text(String(repeating: "x", count: 100_000)))
        let error = #expect(throws: ChatError.self) { try alice.seal(large, to: group) }
        #expect(error?.code == .tooLarge && error?.parameter == "content" && error?.limit == 128 * 1024)
        #expect(error?.message.contains("encrypt") == true)
        var meta = submission()
        meta.attributes.metadata = RawJSON(known: #"{"x":"\#(String(repeating: "x", count: 30_000))"}"#)
        let second = #expect(throws: ChatError.self) { try alice.seal(meta, to: group) }
        #expect(second?.code == .tooLarge && second?.parameter == "metadata" && second?.limit == 32 * 1024)
    }

    @Test("Content that could not be decrypted can't be forwarded, with or without a key")
    func undecryptableContentCannotBeForwarded() throws {
        let sealed = try messageEncryption("alice").seal(submission(), to: group)
        for keys in [[], [Self.november], [Self.may]] {
            let error = #expect(throws: ChatError.self) {
                try messageEncryption("bob", keys).seal(submission(sealed.content), to: .group("other"))
            }
            #expect(error?.code == .invalidParameter && error?.parameter == "content")
        }
    }

    @Test("An encrypted edit is bound to the message's sender and leaves unchanged fields alone")
    func edit() throws {
        let admin = try messageEncryption("admin")
        let id = submission().id
        let edit = MessageEdit(.text("low water"), metadata: .keep, extra: .remove)
        let sealed = try admin.seal(edit, of: id, by: "alice", in: group)
        #expect(sealed.metadata == .keep && sealed.extra == .remove)
        #expect(
            try messageEncryption("bob").open(message(Submission(id: id, content: sealed.content))).text == "low water")
        _ = try refused(message(Submission(id: id, content: sealed.content), by: "admin"))
    }
}
