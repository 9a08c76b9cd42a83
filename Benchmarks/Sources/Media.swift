import ArgumentParser
import Foundation

/// A server to which a client uploads files, and from which it downloads them.
private struct FileServer: Sendable {
    var name: String
    let address: URL
    let headers: [String]
    let large: String
    let small: String
    let cpuSeconds: @Sendable () -> Double
    /// Returns the request for uploading a file with a name.
    let upload: @Sendable (String) -> (method: String, path: String)
    /// Syncs an uploaded file to disk, for servers that don't.
    var sync: (@Sendable (_ name: String) throws -> Void)?
    /// Whether only uploads are measured.
    var onlyUploads = false
}

/// A workload with files.
enum FileWorkload: CaseIterable {
    case largeDown, smallDown, largeUp, smallUp

    static let largeBytes = 100 << 20
    static let smallBytes = 100 << 10

    var isLarge: Bool { self == .largeDown || self == .largeUp }
    var isUpload: Bool { self == .largeUp || self == .smallUp }
    var size: Int { isLarge ? Self.largeBytes : Self.smallBytes }
    var title: String {
        "\(isUpload ? "upload" : "download") of \(isLarge ? "100 MiB, one by one" : "100 KiB, 8 connections")"
    }
}

extension Figures {
    /// A summary of one server's results: MiB or files per second, latencies and CPU time.
    fileprivate func summary(_ work: FileWorkload) -> String {
        String(
            format: "median %.0f %@, best %.0f  p50 %.2f ms  p99 %.2f  server CPU %.2f s per GiB", median,
            work.isLarge ? "MiB/s" : "per second", best, durations.percentile(0.5), durations.percentile(0.99),
            cpuSecondsPerUnit * Double(1 << 30))
    }
}

/// Uploads files of one user to a conversation with another user.
struct FileSender: Sendable {
    let address: URL
    let authorization: String

    /// Creates a sender.
    ///
    /// - Parameter token: The token of user number 0.
    init(_ address: URL, token: String) {
        self.address = address
        authorization = "Authorization: Bearer \(token)"
    }

    func path(_ name: String) -> String { "/v1/media?conversation=direct:\(user(1))&name=\(name)" }

    /// Uploads a file and returns its path.
    func upload(_ size: Int) throws -> String {
        let answer = try PlainHTTP(address).request("POST", path("served"), [authorization], size: size)
        let members = try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any]
        guard let id = members?["media"] as? String else {
            throw BenchError("The response has no media ID: \(answer.text)")
        }
        return "/v1/media/\(id)"
    }
}

struct MediaFiles: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media",
        abstract: "Measure uploads and downloads of files next to nginx with the same files.")

    @Option(help: "The number of rounds. The servers alternate in each round.") var rounds = 5
    @Option(help: "The duration of each round with small files, in seconds.") var duration = 2.0
    @Option(help: "The number of large files per round.") var files = 4
    @Option(help: "The number of connections for small files.") var connections = 8
    @Flag(help: "Don't compare with nginx.") var alone = false

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let nginx = alone ? nil : try Nginx()
        defer { nginx?.stop() }
        if nginx == nil, !alone { print("nginx is not installed, so its figures are omitted.") }
        var servers = [try await scrollback(server)]
        if let nginx { servers += try peers(nginx) }

        var figures: [FileWorkload: [String: Figures]] = [:]
        for round in 1...rounds {
            for work in FileWorkload.allCases {
                // Alternate the order, because the first server starts with the caches that the other one left.
                for place in servers.indices {
                    let server = servers[(place + round) % servers.count]
                    guard work.isUpload || !server.onlyUploads else { continue }
                    var found = figures[work]?[server.name] ?? Figures()
                    try await measure(work, server, round, &found)
                    figures[work, default: [:]][server.name] = found
                }
            }
        }
        for work in FileWorkload.allCases {
            guard let own = figures[work]?[servers[0].name] else { continue }
            report(work.title, "")
            for server in servers {
                guard let found = figures[work]?[server.name] else { continue }
                report("  \(server.name)", found.summary(work))
            }
            for server in servers.dropFirst() {
                guard let found = figures[work]?[server.name] else { continue }
                report(
                    "  of \(server.name)",
                    String(
                        format: "median %.0f %%, best %.0f %%", own.median / found.median * 100,
                        own.best / found.best * 100))
            }
        }
    }

    private func scrollback(_ server: ServerProcess) async throws -> FileServer {
        let files = FileSender(server.address, token: try await Tokens(server.directory).token(user(0)))
        let process = server.processIdentifier
        return FileServer(
            name: "scrollback", address: server.address, headers: [files.authorization],
            large: try files.upload(FileWorkload.largeBytes), small: try files.upload(FileWorkload.smallBytes),
            cpuSeconds: { ServerProcess.cpuSeconds(of: process) }, upload: { ("POST", files.path($0)) })
    }

    private func peers(_ nginx: Nginx) throws -> [FileServer] {
        for (name, size) in [("large", FileWorkload.largeBytes), ("small", FileWorkload.smallBytes)] {
            _ = try PlainHTTP(nginx.address).request("PUT", "/\(name)", [], size: size)
        }
        let folder = nginx.files.appending(path: "up")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let processes = nginx.processIdentifiers
        let plain = FileServer(
            name: "nginx", address: nginx.address, headers: [], large: "/large", small: "/small",
            cpuSeconds: { processes.map { ServerProcess.cpuSeconds(of: $0) }.reduce(0, +) },
            upload: { ("PUT", "/up/\($0)") })
        var synced = plain
        synced.name = "nginx, then fsync"
        synced.onlyUploads = true
        synced.sync = { (name) throws in
            // Sync the file and its directory.
            for path in [folder.appending(path: name).path, folder.path] {
                let descriptor = open(path, O_RDONLY)
                guard descriptor >= 0, fsync(descriptor) == 0 else { throw BenchError("Can't sync \(path).") }
                close(descriptor)
            }
        }
        return [plain, synced]
    }

    private func measure(
        _ work: FileWorkload, _ server: FileServer, _ round: Int, _ figures: inout Figures
    ) async throws {
        // Flush pending writes of the previous server, so that they don't count for this one.
        Foundation.sync()
        let name = "\(server.sync == nil ? "a" : "b")-\(work)-\(round)"
        let cpu = server.cpuSeconds()
        let start = now()
        let end = start + duration
        let most = work.isLarge ? files : Int.max
        let samples = try await onThreads(work.isLarge ? 1 : connections) { thread in
            var sample = Sample()
            let connection = try PlainHTTP(server.address)
            while sample.count < most, work.isLarge || now() < end {
                let begun = now()
                if work.isUpload {
                    let name = "\(name)-\(thread)-\(sample.count)"
                    let (method, path) = server.upload(name)
                    _ = try connection.request(method, path, server.headers, size: work.size)
                    try server.sync?(name)
                } else {
                    let path = work.isLarge ? server.large : server.small
                    let answer = try connection.request("GET", path, server.headers)
                    guard answer.size == work.size else {
                        throw BenchError("Received \(answer.size) bytes instead of \(work.size).")
                    }
                }
                sample.add(now() - begun)
            }
            return sample
        }
        let elapsed = now() - start
        let used = server.cpuSeconds() - cpu
        var count = 0
        for sample in samples {
            figures.durations.add(sample)
            count += sample.count
        }
        let bytes = Double(count) * Double(work.size)
        figures.rates.append(work.isLarge ? bytes / Double(1 << 20) / elapsed : Double(count) / elapsed)
        figures.cpuSeconds += used
        figures.amount += bytes
    }
}
