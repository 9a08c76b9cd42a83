import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Download: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch the file of a message, and print where it is.",
        discussion: """
            What was fetched before it was interrupted is not fetched again, where --store names the same directory.
            """)

    @OptionGroup var conversation: ConversationArgument
    @OptionGroup var message: MessageArgument

    @Option(name: .customLong("as"), help: "Who fetches.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(name: .shortAndLong, help: "Where it goes: a file, or a directory (default: here, under its own name).")
    var output: String?

    @Flag(help: "The small picture that goes with it.")
    var thumbnail = false

    @Flag(help: "Take the place of a file that is there.")
    var force = false

    @Option(help: "A directory for the client's store, which lasts between calls.")
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
                throw ChatError(.unknownMedia, "message \(id) has no file", parameter: "message")
            }
            let place = try place(of: media)
            let client = try await connection.client(for: user, store: store)
            let copy: URL
            do {
                copy = try await fetch(media, client)
                try put(copy, at: place)
            } catch {
                await client.close()
                throw error
            }
            await client.close()
            if connection.json {
                Output.json { writer in
                    writer.field("file", place.path)
                    writer.field("size", (try? place.resourceValues(forKeys: [.fileSizeKey]).fileSize) ?? 0)
                }
            } else {
                Output.line(place.path)
            }
        }
    }

    private func fetch(_ media: Media, _ client: ChatClient) async throws -> URL {
        if thumbnail {
            guard let file = try await client.media.thumbnail(for: media) else {
                throw ChatError(.unknownMedia, "the file has no thumbnail", parameter: "thumbnail")
            }
            return file
        }
        let size = Int(media.size ?? 0)
        let watching = Task {
            var progress = Progress("fetching", total: size, isBytes: true)
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

    // MARK: Where it goes

    private func place(of media: Media) throws -> URL {
        // A name that somebody else gave: only its last part, and never one that hides or leads elsewhere.
        let given = media.name.map { ($0 as NSString).lastPathComponent } ?? ""
        let name = given.isEmpty || given.hasPrefix(".") || given == "/" ? "file-\(media.id?.description ?? "")" : given
        let target = URL(filePath: output ?? ".")
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: target.path, isDirectory: &isDirectory)
        let place =
            exists && isDirectory.boolValue
            ? target.appending(path: thumbnail ? "thumbnail-\(name)" : name) : target
        if FileManager.default.fileExists(atPath: place.path, isDirectory: &isDirectory), isDirectory.boolValue {
            throw ChatError(
                .invalidParameter, "\(place.path) is a directory: take another --output", parameter: "output")
        } else if !force, FileManager.default.fileExists(atPath: place.path) {
            throw ChatError(
                .invalidParameter, "\(place.path) is there already: take --force or another --output",
                parameter: "output")
        }
        return place
    }

    private func put(_ copy: URL, at place: URL) throws {
        // What lay there stays until all of this is beside it.
        let partial = place.appendingPathExtension("part-\(UUID().uuidString)")
        do {
            try FileManager.default.copyItem(at: copy, to: partial)
            guard rename(partial.path, place.path) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        } catch {
            try? FileManager.default.removeItem(at: partial)
            throw ChatError(.localStorage, "\(place.path) can't be written", parameter: "output", cause: error)
        }
    }
}
