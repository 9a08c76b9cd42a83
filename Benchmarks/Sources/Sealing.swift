import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import StoreFiles

struct Sealing: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the cost of storage encryption, with alternating rounds with and without keys.",
        discussion: "Requires disk space for twice the files of all rounds.")

    @Option(help: "The number of rounds of each workload, each without and with encryption.") var rounds = 3
    @Option(help: "The duration of each round of appends, sends, or pages over HTTP, in seconds.") var duration = 6.0
    @Option(help: "The number of messages in the group from which pages are read, at least 1,000.") var messages =
        200_000
    @Option(help: "The number of pages per round in the engine.") var queries = 5000
    @Option(help: "The number of senders with one message in flight each.") var senders = 50
    @Option(help: "The number of concurrent readers of pages over HTTP.") var readers = 1
    @Option(help: "The size of the uploaded and downloaded file in MiB, more than twice --range.") var file = 256
    @Option(help: "The size of the downloaded range in the file's middle, in MiB.") var range = 1
    @Option(help: "The number of ranges per round.") var ranges = 200

    /// A data directory and the options for opening it.
    private struct Side {
        var name: String
        var directory: URL
        var options = SQLiteStore.Options()
        var arguments: [String] = []
    }

    func run() async throws {
        guard rounds >= 1, duration > 0, messages >= 1000, queries >= 1, senders >= 1, readers >= 1, ranges >= 1,
            range >= 1, file > 2 * range
        else {
            throw ValidationError(
                """
                --messages must be at least 1000, --file above twice --range, --duration above 0, and --rounds, \
                --queries, --senders, --readers, --range and --ranges at least 1.
                """)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let sides = try sides(in: folder.url)
        let turns = Turns(first: sides[0].name, second: sides[1].name, rounds: rounds)

        try await turns.compare("append, 50 conversations", in: .init()) { which, _ in
            try await EngineAppend.measure(50, for: duration, sides[which].options)
        }
        try fillStores(sides)
        try await turns.compare("page of 50, engine", in: .init()) { which, _ in try enginePages(sides[which]) }

        let servers = try await start(sides)
        defer { for server in servers { server.stop() } }
        try await turns.compare("send, \(senders) senders", in: .each("send")) { which, _ in
            try await sends(servers[which])
        }
        var tokens: [String] = []
        for side in sides { tokens.append(try await Tokens(side.directory).token("alice")) }
        let readers = "\(readers) reader\(readers == 1 ? "" : "s")"
        try await turns.compare("page of 50, HTTP, \(readers)", in: .each("page")) { which, _ in
            await HTTPPage.read(servers[which], tokens[which], messages, readers: self.readers, for: duration)
        }
        try await measureFiles(turns, servers)
    }

    // MARK: Preparation

    private func sides(in folder: URL) throws -> [Side] {
        let plain = Side(name: "plain", directory: folder.appending(path: "plain"))
        var sealed = Side(name: "encrypted", directory: folder.appending(path: "sealed"))
        let key = Data((0..<StoreKey.byteCount).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        let keys = folder.appending(path: "store.keys")
        try Data(key.utf8).write(to: keys)
        sealed.options.keys = try StoreKeys(text: key)
        sealed.arguments = ["--store-keys", keys.path]
        return [plain, sealed]
    }

    private func fillStores(_ sides: [Side]) throws {
        var sizes: [Double] = []
        for side in sides {
            let store = try SQLiteStore(directory: side.directory, options: side.options)
            try fill(store, messages: messages, group: "deep", sender: "alice")
            try store.checkpoint()
            sizes.append(Double(try store.sizes().database))
            try store.close()
        }
        report(
            "database of \(messages) messages",
            String(
                format: "%@ %.1f MB   %@ %.1f MB   ratio %.2f", sides[0].name, sizes[0] / 1e6, sides[1].name,
                sizes[1] / 1e6, sizes[1] / sizes[0]))
    }

    /// Starts both servers twice.
    ///
    /// The second start loads the search index from disk, or rebuilds it if the store is encrypted.
    private func start(_ sides: [Side]) async throws -> [ServerProcess] {
        var servers: [ServerProcess] = []
        var costs: [String] = []
        do {
            for side in sides {
                let server = try ServerProcess(side.arguments, on: side.directory)
                servers.append(server)
                try await server.untilQuiet()
                server.end(SIGTERM)
                try server.startAgain()
                try await server.untilQuiet()
                costs.append(
                    String(
                        format: "%@ %.2f s of server CPU, %.0f MiB resident", side.name, server.cpuSeconds,
                        server.residentKiB / 1024))
            }
        } catch {
            for server in servers { server.stop() }
            throw error
        }
        report("start with \(messages) messages", costs.joined(separator: "   "))
        return servers
    }

    // MARK: Messages

    private func enginePages(_ side: Side) throws -> Figures {
        let store = try SQLiteStore(directory: side.directory, options: side.options)
        let engine = try Engine(store: store)
        let sample = try EnginePage.pages(engine, messages, queries)
        engine.log.close()
        try store.close()
        return Figures(rates: [1000 / sample.mean], durations: sample)
    }

    private func sends(_ server: ServerProcess) async throws -> Figures {
        let load = try await SendLoad(server, senders: senders)
        defer { load.close() }
        _ = await load.run(1)
        try await server.untilQuiet()
        let cpu = server.cpuSeconds
        let (sample, elapsed) = await load.run(duration)
        // Include the indexing of the sent messages in the CPU time.
        try await server.untilQuiet()
        let count = Double(sample.count)
        return Figures(
            rates: [count / elapsed], durations: sample, cpuSeconds: server.cpuSeconds - cpu, amount: count)
    }

    // MARK: Files

    private func measureFiles(_ turns: Turns, _ servers: [ServerProcess]) async throws {
        let size = file << 20
        var senders: [FileSender] = []
        for server in servers {
            let tokens = try await Tokens(server.directory)
            try await Preparation(server: server, admin: tokens.admin())
                .call("PUT", "/v1/settings", "{\"fileBytes\":\(size)}")
            senders.append(FileSender(server.address, token: try await tokens.token(user(0))))
        }
        // The newest uploaded file of each server, which is then downloaded.
        var paths = ["", ""]
        try await turns.compare("upload of \(file) MiB", in: .bytes) { which, _ in
            let sender = senders[which]
            return try await bytes(size, servers[which]) {
                paths[which] = try await blocking { try sender.upload(size) }
            }
        }
        try await turns.compare("download of \(file) MiB", in: .bytes) { which, _ in
            try await bytes(size, servers[which]) {
                _ = try await download(paths[which], nil, times: 1, by: senders[which])
            }
        }
        let middle = size / 2 + 1000
        let part = middle..<(middle + (range << 20))
        var unit = Turns.Unit.bytes
        unit.hasDurations = true
        try await turns.compare("range of \(range) MiB in its middle", in: unit) { which, _ in
            var sample = Sample()
            var figures = try await bytes(part.count * ranges, servers[which]) {
                sample = try await download(paths[which], part, times: ranges, by: senders[which])
            }
            figures.durations = sample
            return figures
        }
    }

    /// Measures a body that transfers `count` bytes.
    private func bytes(_ count: Int, _ server: ServerProcess, _ body: () async throws -> Void) async throws -> Figures {
        // Flush pending writes of the previous server, so that they don't count for this one.
        Foundation.sync()
        let cpu = server.cpuSeconds
        let start = now()
        try await body()
        let rate = Double(count) / Double(1 << 20) / (now() - start)
        return Figures(rates: [rate], cpuSeconds: server.cpuSeconds - cpu, amount: Double(count))
    }

    /// Downloads a file or a part of it several times.
    ///
    /// - Parameter part: The range of bytes, or `nil` for the whole file.
    private func download(
        _ path: String, _ part: Range<Int>?, times: Int, by sender: FileSender
    ) async throws -> Sample {
        let size = part?.count ?? file << 20
        let range = part.map { ["Range: bytes=\($0.lowerBound)-\($0.upperBound - 1)"] } ?? []
        return try await blocking {
            var sample = Sample()
            let connection = try PlainHTTP(sender.address)
            for _ in 0..<times {
                let start = now()
                let answer = try connection.ask("GET", path, [sender.authorization] + range)
                guard answer.size == size else { throw BenchError("Received \(answer.size) bytes instead of \(size).") }
                sample.add(now() - start)
            }
            return sample
        }
    }
}
