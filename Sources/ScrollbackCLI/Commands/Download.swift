import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Download: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Download the file of a message and print its path.",
        discussion: """
            With --store, an interrupted download resumes if the command is repeated with the same directory.
            """)

    @OptionGroup var conversation: ConversationArgument
    @OptionGroup var message: MessageArgument

    @Option(name: .customLong("as"), help: "The user who downloads the file.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(
        name: .shortAndLong,
        help: "The destination file or directory (default: the current directory and the file's own name).")
    var output: String?

    @Flag(help: "Download the thumbnail instead of the file.")
    var thumbnail = false

    @Flag(help: "Replace an existing file.")
    var force = false

    @Option(help: "A directory for the client's local store (default: in memory).")
    var store: String?

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let id = try await message.id(in: conversation.id, api)
            let found = try await api.object("GET", ServerAPI.path(conversation.id, "/messages/\(id)")) {
                (reader) throws(ChatError) in try Message(from: &reader)
            }
            guard let media = found.content?.media else {
                throw ChatError(.unknownMedia, "Message \(id) has no file.", parameter: "message")
            }
            let destination = try destination(of: media)
            try await connection.withClient(for: user, store: store) { client in
                try put(try await fetch(media, client), at: destination)
            }
            if connection.json {
                Output.json { writer in
                    writer.field("file", destination.path)
                    writer.field("size", (try? destination.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0)
                }
            } else {
                Output.line(destination.path)
            }
        }
    }

    private func fetch(_ media: Media, _ client: ChatClient) async throws -> URL {
        if thumbnail {
            guard let file = try await client.media.thumbnail(for: media) else {
                throw ChatError(.unknownMedia, "The file has no thumbnail.", parameter: "thumbnail")
            }
            return file
        }
        let size = Int(media.size ?? 0)
        let watching = Task {
            var progress = Progress("downloading", total: size, isBytes: true)
            for await fraction in client.media.progress(of: media) { progress.show(Int(fraction * Double(size))) }
            if !Task.isCancelled { progress.finish(size) }
        }
        do {
            let file = try await client.media.file(for: media)
            watching.cancel()
            return file
        } catch {
            watching.cancel()
            throw error
        }
    }

    // MARK: Destination

    private func destination(of media: Media) throws -> URL {
        // The sender chose the name. Use only its last component, and reject hidden names.
        let given = media.name.map { ($0 as NSString).lastPathComponent } ?? ""
        let name = given.isEmpty || given.hasPrefix(".") || given == "/" ? "file-\(media.id?.description ?? "")" : given
        let target = URL(filePath: output ?? ".")
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: target.path, isDirectory: &isDirectory)
        let destination =
            exists && isDirectory.boolValue
            ? target.appending(path: thumbnail ? "thumbnail-\(name)" : name) : target
        if FileManager.default.fileExists(atPath: destination.path, isDirectory: &isDirectory), isDirectory.boolValue {
            throw ChatError(
                .invalidParameter, "\(destination.path) is a directory. Use another --output.", parameter: "output")
        } else if !force, FileManager.default.fileExists(atPath: destination.path) {
            throw ChatError(
                .invalidParameter, "\(destination.path) already exists. Use --force or another --output.",
                parameter: "output")
        }
        return destination
    }

    private func put(_ copy: URL, at destination: URL) throws {
        // Keep the existing file until the new one is complete.
        let partial = destination.appendingPathExtension("part-\(UUID().uuidString)")
        do {
            try FileManager.default.copyItem(at: copy, to: partial)
            guard rename(partial.path, destination.path) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        } catch {
            try? FileManager.default.removeItem(at: partial)
            throw ChatError(.localStorage, "Can't write \(destination.path).", parameter: "output", cause: error)
        }
    }
}
