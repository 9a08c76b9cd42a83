import ArgumentParser
import Foundation
import ScrollbackModel

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Put a chat log into a server, keeping its times and order.",
        discussion: """
            FILE has one JSON object a line: id, sender, time (ISO 8601), text and a channel. What `scrollback export` writes \
            is taken too. Every sender becomes a member who sees all of it. Nothing of it is unread, unless --counts-unread \
            says so: then it counts for everybody but its sender, as if it were said now.

            With --kind direct, all channels with the same two senders become one conversation of the two, in order of \
            time; channels with fewer senders or more are left out, and counted.

            It may be stopped and run again: what is there already is skipped. It is refused, by name, only where a new \
            message would have to go before one that is there.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case direct, group, community, room
    }

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case jsonl
    }

    @Argument(help: "The file to read.")
    var file: String

    @Option(help: "The file's format.")
    var format = Format.jsonl

    @Option(
        help: """
            What a channel of the file becomes: a group, a room, a channel of one community, or a part of the direct \
            conversation of its two senders.
            """)
    var kind = Kind.group

    @Option(help: "The community's name (default: the file's, without its ending).")
    var target: String?

    @Option(help: "Take only this channel of the file.")
    var channel: String?

    @Flag(help: "Count what is new as unread, and as mentions where it mentions somebody.")
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
                onlyChannel: channel, countsUnread: countsUnread, progress: Progress("importing", total: data.count))
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
                if let leftOut = report.leftOut {
                    writer.field("channelsLeftOut", leftOut.channels)
                    writer.field("messagesLeftOut", leftOut.messages)
                }
            }
            return
        }
        Output.line(
            "imported \(report.imported) messages into \(report.conversations.count) conversations, "
                + "\(report.skipped) were there already")
        if let leftOut = report.leftOut, leftOut.channels > 0 {
            Output.line(
                "left out \(leftOut.channels) channels with \(leftOut.messages) messages: they have one sender, or more "
                    + "than two")
        }
    }
}
