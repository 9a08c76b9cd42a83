import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite

struct StoreGrowth: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store-growth",
        abstract: "Measure a server whose store grows from 1,000 to 10,000,000 messages of one group.")

    @Option(help: "The number of messages at the end, at least 1,000. A step has ten times those of the step before.")
    var messages = 10_000_000
    @Option(help: "The duration of the pages and of the sends at each step, in seconds.") var duration = 4.0
    @Option(help: "A data directory that is kept. Another run with it continues after the messages that it has.")
    var data: String?

    func validate() throws {
        guard messages >= 1000, duration > 0 else {
            throw ValidationError("--messages must be at least 1,000, and --duration must be positive.")
        }
    }

    func run() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let data = self.data.map { URL(filePath: $0) } ?? folder.url.appending(path: "data")
        for step in sequence(first: 1000, next: { $0 < messages ? min($0 * 10, messages) : nil }) {
            guard try addMessages(to: data, upTo: step) else { continue }
            try await measureServer(on: data, step)
        }
        let verify = try seconds { try ServerProcess.run(["verify", data.path]) }
        let copy = folder.url.appending(path: "backup")
        let backup = try seconds { try ServerProcess.run(["backup", copy.path, "--data", data.path]) }
        report(
            "\(messages) messages",
            String(format: "verify %.1f s  backup %.1f s, %.0f MB", verify, backup, try megabytes(of: copy)))
    }

    /// - Returns: Whether the store had at most this number of messages.
    private func addMessages(to data: URL, upTo count: Int) throws -> Bool {
        let store = try SQLiteStore(directory: data)
        defer { try? store.close() }
        let existing = Int(try store.read { try $0.conversation(.group("deep"))?.head ?? 0 })
        guard existing < count else { return existing == count }
        var words = SplitMix64(seed: UInt64(count))
        let duration = try seconds {
            try fill(
                store, from: existing, messages: count, group: "deep", sender: "alice",
                text: { _ in Self.text(&words) })
        }
        report(
            "\(count) messages",
            String(
                format: "imported at %.0f/s  store %.1f MB", Double(count - existing) / duration,
                try megabytes(of: data)))
        return true
    }

    /// Returns a text of about 290 bytes, whose words are as unequally frequent as those of a language.
    private static func text(_ random: inout SplitMix64) -> String {
        let words = (0..<48).map { _ in
            let share = Double.random(in: 0..<1, using: &random)
            return String(Int(20_000 * share * share * share) + 10_000)
        }
        return words.joined(separator: " ")
    }

    private func measureServer(on data: URL, _ messages: Int) async throws {
        let begin = now()
        let server = try ServerProcess(on: data)
        defer { server.stop() }
        let start = now() - begin
        try await server.waitUntilIdle(limit: 3600)
        let indexed = now() - begin
        let peak = server.peakResidentKiB / 1024
        let token = try await Tokens(data).token("alice")
        let pages = await HTTPPage.read(server, token, messages, readers: 1, for: duration)
        let load = try await SendLoad(server, senders: 50)
        let (sends, elapsed) = await load.run(duration)
        load.close()
        report(
            "\(messages) messages",
            String(
                format: "start %.2f s, search index after %.1f s, %.0f MiB at most  page %@  send %.0f/s  %@  "
                    + "memory %.0f MiB  with the index %.1f MB",
                start, indexed, peak, pages.durations.summary, Double(sends.count) / elapsed, sends.summary,
                server.residentKiB / 1024, try megabytes(of: data)))
    }

    /// Returns the size of all files in a folder.
    private func megabytes(of folder: URL) throws -> Double {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.fileSizeKey])
        var bytes = 0
        while let file = files?.nextObject() as? URL {
            bytes += try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        }
        return Double(bytes) / 1e6
    }
}
