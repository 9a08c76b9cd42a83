import ArgumentParser
import Crypto
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put a chat log into a server, keeping its times and order.",
        discussion: """
            FILE has one JSON object a line: id, sender, time (ISO 8601) and text, and with --kind community or group a \
            channel. What `scrollback export` writes is taken too. Every sender becomes a member who sees all of it.

            It may be stopped and run again: what is there already is skipped. It is refused, by name, only where a new \
            message would have to go before one that is there.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case group, community, room
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case jsonl
    }

    @Argument(help: "The file to read.")
    var file: String

    @Option(help: "The file's format.")
    var format = Format.jsonl

    @Option(help: "What a channel of the file becomes: a group, a room, or a channel of one community.")
    var kind = Kind.group

    @Option(help: "The community's name (default: the file's, without its ending).")
    var target: String?

    @Option(help: "Take only this channel of the file.")
    var channel: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let url = URL(filePath: file)
            guard let data = try? Data(contentsOf: url, options: .alwaysMapped) else {
                throw ChatError.invalidParameter("file", "can't be read: \(url.path)")
            }
            let name = target ?? url.deletingPathExtension().lastPathComponent
            var importer = Importer(
                api: try connection.adminAPI(), kind: kind, community: try Identifier(name, parameter: "target"),
                onlyChannel: channel, progress: Progress("importing", total: data.count))
            try await importer.run(data)
            let report = importer
            if connection.json {
                Output.json { writer in
                    writer.field("imported", report.imported)
                    writer.field("skipped", report.skipped)
                    writer.field("conversations", report.conversations.count)
                }
            } else {
                Output.line(
                    "imported \(report.imported) messages into \(report.conversations.count) conversations, "
                        + "\(report.skipped) were there already")
            }
        }
    }
}

/// Reads a log line by line, and hands each conversation's messages over in batches, in order.
private struct Importer {
    let api: ServerAPI
    let kind: Import.Kind
    let community: Identifier
    let onlyChannel: String?
    var progress: Progress

    var imported = 0
    var skipped = 0
    var conversations: Set<ConversationID> = []
    private var batches: [ConversationID: [ImportLine]] = [:]
    private var bytesRead = 0

    private static let batchSize = 500

    init(api: ServerAPI, kind: Import.Kind, community: Identifier, onlyChannel: String?, progress: Progress) {
        self.api = api
        self.kind = kind
        self.community = community
        self.onlyChannel = onlyChannel
        self.progress = progress
    }

    mutating func run(_ data: Data) async throws(ChatError) {
        if kind == .community { try await create(.community(community), name: community.text) }
        var number = 0
        for line in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            // The last line may have no newline.
            bytesRead = min(bytesRead + line.count + 1, data.count)
            if line.isEmpty { continue }
            let read: ImportLine
            do {
                read = try ImportLine(Array(line))
            } catch {
                throw ChatError(error.code, "line \(number) of the file: \(error.message)", parameter: error.parameter)
            }
            if let onlyChannel, read.channel != onlyChannel { continue }
            let id = try conversation(of: read, line: number)
            batches[id, default: []].append(read)
            if batches[id]?.count == Self.batchSize { try await flush(id) }
        }
        for id in batches.keys.sorted() { try await flush(id) }
        progress.finish(bytesRead, "\(imported) messages")
    }

    private func conversation(of line: ImportLine, line number: Int) throws(ChatError) -> ConversationID {
        guard let channel = line.channel else {
            throw .invalidParameter("channel", "is missing in line \(number) of the file")
        }
        let name: Identifier
        do {
            name = try Identifier(channel, parameter: "channel")
        } catch {
            throw ChatError(error.code, "line \(number) of the file: \(error.message)", parameter: "channel")
        }
        return switch kind {
        case .group: .group(name)
        case .room: .room(name)
        case .community: .community(community, channel: name)
        }
    }

    private mutating func flush(_ id: ConversationID) async throws(ChatError) {
        guard let batch = batches[id], !batch.isEmpty else { return }
        if conversations.insert(id).inserted { try await create(id, name: (id.part ?? id.target).text) }
        var submissions: [(ImportLine, MessageID)] = []
        for line in batch { submissions.append((line, line.messageID(in: id))) }
        let entries = submissions
        let report = try await api.object("POST", ServerAPI.path(id, "/import")) { writer in
            writer.key("messages")
            writer.array(entries) { writer, entry in entry.0.write(to: &writer, id: entry.1) }
        } read: { (reader) throws(ChatError) in
            var imported: Int64 = 0
            var skipped: Int64 = 0
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "imported": imported = try value.integer()
                case "skipped": skipped = try value.integer()
                default: try value.skip()
                }
            }
            return (Int(imported), Int(skipped))
        }
        imported += report.0
        skipped += report.1
        batches[id] = []
        progress.show(bytesRead, "\(imported) messages")
    }

    private func create(_ id: ConversationID, name: String) async throws(ChatError) {
        try await api.perform("PUT", ServerAPI.path(id)) { $0.field("name", name) }
    }
}

/// One line of a log.
struct ImportLine {
    var id: String
    var channel: String?
    var sender: UserID
    var time: Date
    var fields: SubmissionFields

    init(_ bytes: [UInt8]) throws(ChatError) {
        var reader = try JSONReader(bytes)
        var id: String?
        var channel: String?
        var sender: UserID?
        var time: Date?
        var fields = SubmissionFields()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "id": id = try value.string()
            case "channel": channel = try value.string()
            case "sender": sender = try value.user("sender")
            case "time": time = try value.date("time")
            case "text":
                let content = MessageContent.text(try value.string())
                fields.type = content.type
                fields.content = content.json
            case "type": fields.type = try MessageType(try value.string())
            case "content": fields.content = try value.raw()
            default: if try !fields.attributes.readMember(name, &value) { try value.skip() }
            }
        }
        try reader.end()
        self.id = try id.required("id")
        self.channel = channel
        self.sender = try sender.required("sender")
        self.time = try time.required("time")
        self.fields = fields
        guard fields.content != nil else { throw .invalidParameter("text", "is missing") }
    }

    /// The message's id: the line's own where it is a UUID, else one derived from it (RFC 9562, version 8), so that the
    /// same file gives the same messages however often it is imported.
    func messageID(in conversation: ConversationID) -> MessageID {
        if let uuid = try? MessageID(id) { return uuid }
        let digest = SHA256.hash(data: Data("scrollback import\u{0}\(conversation)\u{0}\(id)".utf8))
        return digest.withUnsafeBytes { bytes in
            let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
            let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            return MessageID(
                high: high & ~0xF000 | 0x8000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
        }
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        writer.object { writer in
            writer.field("id", id)
            writer.field("sender", sender)
            writer.field("sentAt", time)
            writer.field("type", fields.type)
            writer.field("content", fields.content)
            fields.attributes.writeMembers(to: &writer)
        }
    }
}
