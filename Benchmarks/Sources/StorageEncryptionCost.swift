import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import SQLiteSupport

struct StorageEncryptionCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealing",
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
    private struct Variant {
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
        let variants = try variants(in: folder.url)
        let comparison = Comparison(first: variants[0].name, second: variants[1].name, rounds: rounds)

        try await comparison.compare("append, 50 conversations", in: .init()) { which, _ in
            try await EngineAppend.measure(50, for: duration, variants[which].options)
        }
        try fillStores(variants)
        try await comparison.compare("page of 50, engine", in: .init()) { which, _ in try enginePages(variants[which]) }

        let servers = try await start(variants)
        defer { for server in servers { server.stop() } }
        try await comparison.compare("send, \(senders) senders", in: .each("send")) { which, _ in
            try await sends(servers[which])
        }
        var tokens: [String] = []
        for variant in variants { tokens.append(try await Tokens(variant.directory).token("alice")) }
        let readers = "\(readers) reader\(readers == 1 ? "" : "s")"
        try await comparison.compare("page of 50, HTTP, \(readers)", in: .each("page")) { which, _ in
            await HTTPPage.read(servers[which], tokens[which], messages, readers: self.readers, for: duration)
        }
        try await measureFiles(comparison, servers)
    }

    // MARK: Preparation

    private func variants(in folder: URL) throws -> [Variant] {
        let plain = Variant(name: "plain", directory: folder.appending(path: "plain"))
        var sealed = Variant(name: "encrypted", directory: folder.appending(path: "sealed"))
        let key = Data((0..<StoreKey.byteCount).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        let keys = folder.appending(path: "store.keys")
        try Data(key.utf8).write(to: keys)
        sealed.options.keys = try StoreKeys(text: key)
        sealed.arguments = ["--store-keys", keys.path]
        return [plain, sealed]
    }

    private func fillStores(_ variants: [Variant]) throws {
        var sizes: [Double] = []
        for variant in variants {
            let store = try SQLiteStore(directory: variant.directory, options: variant.options)
            try fill(store, messages: messages, group: "deep", sender: "alice")
            try store.checkpoint()
            sizes.append(Double(store.sizes().database))
            try store.close()
        }
        report(
            "database of \(messages) messages",
            String(
                format: "%@ %.1f MB   %@ %.1f MB   ratio %.2f", variants[0].name, sizes[0] / 1e6, variants[1].name,
                sizes[1] / 1e6, sizes[1] / sizes[0]))
    }

    /// Starts both servers twice.
    ///
    /// The second start loads the search index from disk, or rebuilds it if the store is encrypted.
    private func start(_ variants: [Variant]) async throws -> [ServerProcess] {
        var servers: [ServerProcess] = []
        var costs: [String] = []
        do {
            for variant in variants {
                let server = try ServerProcess(variant.arguments, on: variant.directory)
                servers.append(server)
                try await server.waitUntilIdle()
                server.end(SIGTERM)
                try server.restart()
                try await server.waitUntilIdle()
                costs.append(
                    String(
                        format: "%@ %.2f s of server CPU, %.0f MiB resident", variant.name, server.cpuSeconds,
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

    private func enginePages(_ variant: Variant) throws -> Figures {
        let store = try SQLiteStore(directory: variant.directory, options: variant.options)
        let engine = try Engine(store: store)
        let sample = try EnginePage.pages(engine, messages, queries)
        engine.commits.close()
        try store.close()
        return Figures(rates: [1000 / sample.mean], durations: sample)
    }

    private func sends(_ server: ServerProcess) async throws -> Figures {
        let load = try await SendLoad(server, senders: senders)
        defer { load.close() }
        _ = await load.run(1)
        try await server.waitUntilIdle()
        let cpu = server.cpuSeconds
        let (sample, elapsed) = await load.run(duration)
        // Include the indexing of the sent messages in the CPU time.
        try await server.waitUntilIdle()
        let count = Double(sample.count)
        return Figures(
            rates: [count / elapsed], durations: sample, cpuSeconds: server.cpuSeconds - cpu, amount: count)
    }

    // MARK: Files

    private func measureFiles(_ comparison: Comparison, _ servers: [ServerProcess]) async throws {
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
        try await comparison.compare("upload of \(file) MiB", in: .bytes) { which, _ in
            let sender = senders[which]
            return try await bytes(size, servers[which]) {
                paths[which] = try await blocking { try sender.upload(size) }
            }
        }
        try await comparison.compare("download of \(file) MiB", in: .bytes) { which, _ in
            try await bytes(size, servers[which]) {
                _ = try await download(paths[which], nil, times: 1, by: senders[which])
            }
        }
        let middle = size / 2 + 1000
        let part = middle..<(middle + (range << 20))
        var unit = Comparison.Unit.bytes
        unit.hasDurations = true
        try await comparison.compare("range of \(range) MiB in its middle", in: unit) { which, _ in
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
                let answer = try connection.request("GET", path, [sender.authorization] + range)
                guard answer.size == size else { throw BenchError("Received \(answer.size) bytes instead of \(size).") }
                sample.add(now() - start)
            }
            return sample
        }
    }
}
