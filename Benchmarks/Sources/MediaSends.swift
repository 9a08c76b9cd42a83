import ArgumentParser
import Foundation
import Synchronization

struct MediaSends: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media-send",
        abstract: "Measure durable sends over WebSocket with and without concurrent uploads of 100 MiB.")

    @Option var senders = 50
    @Option(help: "The duration of each round in seconds.") var duration = 6.0
    @Option(help: "The number of rounds, each without and with uploads.") var rounds = 3
    @Option(help: "The number of concurrent uploads.") var uploads = 10
    @Option(help: "The total rate of all paced uploads in MiB/s. The default is that of a gigabit network.")
    var pace = 119.0

    private struct Totals {
        var sends = Figures()
        var uploaded = 0.0
        var seconds = 0.0
    }

    func run() async throws {
        let server = try ServerProcess()
        defer { server.stop() }
        let load = try await SendLoad(server, senders: senders)
        let tokens = try await Tokens(server.directory)
        var authorizations: [String] = []
        for number in 0..<uploads {
            authorizations.append("Authorization: Bearer \(try await tokens.token(user(number + 2000)))")
        }
        let speeds: [(name: String, pace: Double?)] = [
            ("sends alone", 0), ("beside \(uploads) uploads, \(Int(pace)) MiB/s", pace),
            ("beside \(uploads) uploads, unpaced", nil),
        ]
        var totals = speeds.map { _ in Totals() }
        _ = await load.run(2)
        for _ in 1...rounds {
            for (place, speed) in speeds.enumerated() {
                Foundation.sync()
                let uploading = Uploading(server.address, authorizations, pace: speed.pace)
                async let ended: Void = uploading.run()
                if speed.pace != 0 { try await Task.sleep(for: .milliseconds(500)) }
                let before = uploading.bytes
                let (sample, elapsed) = await load.run(duration)
                totals[place].uploaded += Double(uploading.bytes - before)
                totals[place].seconds += elapsed
                uploading.stop()
                try await ended
                totals[place].sends.add(Figures(rates: [Double(sample.count) / elapsed], durations: sample))
            }
        }
        for (speed, total) in zip(speeds, totals) {
            report(
                speed.name,
                String(
                    format: "median %.0f/s (%.0f %%), best %.0f/s  %@  uploads %.0f MiB/s", total.sends.median,
                    total.sends.median / totals[0].sends.median * 100, total.sends.best, total.sends.durations.summary,
                    total.uploaded / total.seconds / Double(1 << 20)))
        }
    }
}

/// Uploads files of 100 MiB, one after another on each connection, until stopped.
private final class Uploading: Sendable {
    private let address: URL
    private let authorizations: [String]
    private let pace: Double?
    private let sent = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)

    private struct Stopped: Error {}

    /// Creates the uploads.
    ///
    /// - Parameter pace: The total rate in MiB/s, or `nil` for no limit. With 0, nothing is uploaded.
    init(_ address: URL, _ authorizations: [String], pace: Double?) {
        self.address = address
        self.authorizations = pace == 0 ? [] : authorizations
        self.pace = pace.map { $0 * Double(1 << 20) / Double(max(1, authorizations.count)) }
    }

    var bytes: Int { sent.load(ordering: .relaxed) }
    func stop() { isStopped.store(true, ordering: .relaxed) }

    func run() async throws {
        _ = try await onThreads(authorizations.count) { [self] number in
            do {
                while true {
                    let connection = try PlainHTTP(address)
                    let start = now()
                    var own = 0.0
                    _ = try connection.request(
                        "POST", "/v1/media?conversation=direct:\(user(number + 3000))", [authorizations[number]],
                        size: FileWorkload.largeBytes
                    ) { count in
                        sent.wrappingAdd(count, ordering: .relaxed)
                        own += Double(count)
                        if isStopped.load(ordering: .relaxed) { throw Stopped() }
                        guard let pace else { return }
                        let wait = start + own / pace - now()
                        if wait > 0 { Thread.sleep(forTimeInterval: wait) }
                    }
                }
            } catch is Stopped {}
        }
    }
}
