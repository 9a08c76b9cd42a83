import ArgumentParser
import Foundation
import ScrollbackModel

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Import a chat log, keeping its times and order.",
        discussion: """
            FILE contains one JSON object per line with id, sender, time (ISO 8601), text and channel, or is the \
            output of `scrollback export`. Every sender becomes a member who can see all imported messages. Imported \
            messages are read, unless --counts-unread is given: then they are unread for all members except their \
            senders.

            With --kind direct, all channels with the same two senders become one direct conversation, sorted by time. \
            Channels with fewer or more senders are skipped.

            An interrupted import can be repeated, because existing messages are skipped. The import fails if it would \
            insert a message before an existing one. It also fails for a message with a file that the server does not \
            have, because an export does not contain the files. The error names the line, the message and the file. \
            Upload the file with the same ID first, or remove the line.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case direct, group, community, room
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case jsonl
    }

    @Argument(help: "The file to import.")
    var file: String

    @Option(help: "The format of the file.")
    var format = Format.jsonl

    @Option(
        help: """
            The kind of conversation for each channel of the file: a group, a room, a channel of one community, or the \
            direct conversation of its two senders.
            """)
    var kind = Kind.group

    @Option(help: "The name of the community (default: the file's name without its extension).")
    var target: String?

    @Option(help: "Import only this channel of the file.")
    var channel: String?

    @Flag(help: "Count imported messages as unread, and their mentions as unread mentions.")
    var countsUnread = false

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
                onlyChannel: channel, countsUnread: countsUnread,
                progress: Progress("importing", total: data.count, isBytes: true))
            try await importer.run(data)
            show(importer)
        }
    }

    private func show(_ report: Importer) {
        if connection.json {
            Output.json { writer in
                writer.field("imported", report.imported)
                writer.field("skipped", report.skipped)
                writer.field("conversations", report.conversations.count)
                if let ignored = report.ignored {
                    writer.field("channelsLeftOut", ignored.channels)
                    writer.field("messagesLeftOut", ignored.messages)
                }
            }
            return
        }
        Output.line(
            "imported \(report.imported) messages into \(report.conversations.count) conversations, "
                + "\(report.skipped) already existed")
        if let ignored = report.ignored, ignored.channels > 0 {
            Output.line(
                "skipped \(ignored.channels) channels with \(ignored.messages) messages, because they don't have "
                    + "exactly two senders")
        }
    }
}
