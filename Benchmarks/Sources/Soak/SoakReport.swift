import Foundation

/// The state of the server at one time, and the requests since the previous sample.
struct SoakSample: Encodable {
    var minute: Double
    var memoryMiB: Double
    var descriptors: Double
    /// The size of the database, its write-ahead log and the search index.
    var storeMiB: Double
    var mediaMiB: Double
    /// The server's CPU time per second.
    var cpu: Double
    var requestsPerSecond: Double
    /// Durations of requests in milliseconds.
    var p50: Double
    var p99: Double
    var requests: [String: Int]
    var failures: [String: Int]

    init(_ server: ServerProcess, minute: Double, elapsed: Double, cpu: Double, _ counts: SoakLoad.Counts) {
        self.minute = minute
        memoryMiB = server.residentKiB / 1024
        descriptors = Double(server.descriptorCount)
        let media = Self.size(of: server.directory.appending(path: "media"))
        mediaMiB = Double(media) / Double(1 << 20)
        storeMiB = Double(Self.size(of: server.directory) - media) / Double(1 << 20)
        self.cpu = elapsed > 0.5 ? cpu / elapsed : 0
        requestsPerSecond = elapsed > 0.5 ? Double(counts.durations.count) / elapsed : 0
        p50 = counts.durations.percentile(0.5)
        p99 = counts.durations.percentile(0.99)
        requests = counts.requests
        failures = counts.failures
    }

    private static func size(of folder: URL) -> Int {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.fileSizeKey])
        return (found?.allObjects as? [URL] ?? []).reduce(0) { sum, url in
            let values = try? url.resourceValues(forKeys: [.fileSizeKey, .isRegularFileKey])
            return sum + (values?.isRegularFile == true ? values?.fileSize ?? 0 : 0)
        }
    }

    static let header = """
        | minute | memory, MiB | files open | store, MiB | files, MiB | CPU, cores | requests/s | p50, p99 ms | failed |
        |---|---|---|---|---|---|---|---|---|
        """

    var row: String {
        String(
            format: "| %.1f | %.1f | %.0f | %.1f | %.1f | %.2f | %.0f | %.1f, %.1f | %d |", minute, memoryMiB,
            descriptors, storeMiB, mediaMiB, cpu, requestsPerSecond, p50, p99, failures.values.reduce(0, +))
    }
}

/// The verdict on a soak.
struct SoakReport: Encodable {
    /// The growth of one figure after warming up, from a line fitted to the samples.
    struct Growth: Encodable {
        var figure: String
        var perHour: Double
        /// The growth in the measured time, and the limit for it.
        var growth: Double
        var limit: Double
        var isPassed: Bool { growth <= limit }
    }

    var samples: [SoakSample]
    var growths: [Growth]
    /// Requests that failed because of the server: other refusals are expected after a group was deleted.
    var serverFailures: [String: Int]
    var refusals: [String: Int]
    /// How the server ended, or `nil` if it still ran at the end of the soak.
    var ending: String?
    var isPassed: Bool

    init(_ samples: [SoakSample], ending: String?) {
        self.samples = samples
        self.ending = ending
        let warm = samples.filter { $0.minute >= 0.2 * (samples.last?.minute ?? 0) }
        // The limits allow for noise, such as caches that are still being filled.
        growths = [
            Self.growth("memory, MiB", warm, \.memoryMiB, atLeast: 8),
            Self.growth("descriptors", warm, \.descriptors, atLeast: 8),
            Self.growth("store, MiB", warm, \.storeMiB, atLeast: 16),
            Self.growth("files, MiB", warm, \.mediaMiB, atLeast: 2),
            Self.growth("CPU, cores", warm, \.cpu, atLeast: 0.1),
        ]
        var all: [String: Int] = [:]
        for sample in samples { all.merge(sample.failures, uniquingKeysWith: +) }
        serverFailures = all.filter { reason, _ in
            ["HTTP 5", "connection closed", "timed out", "not connected", "close code"].contains {
                reason.contains($0)
            }
        }
        refusals = all.filter { [serverFailures] in serverFailures[$0.key] == nil }
        isPassed = ending == nil && serverFailures.isEmpty && growths.allSatisfy(\.isPassed)
    }

    /// Fits a line by least squares.
    ///
    /// A figure may grow by a tenth of its mean, or by `least` if that is more.
    private static func growth(
        _ figure: String, _ samples: [SoakSample], _ value: (SoakSample) -> Double, atLeast least: Double
    ) -> Growth {
        let count = Double(max(1, samples.count))
        let meanTime = samples.map(\.minute).reduce(0, +) / count
        let meanValue = samples.map(value).reduce(0, +) / count
        var (covariance, variance) = (0.0, 0.0)
        for sample in samples {
            covariance += (sample.minute - meanTime) * (value(sample) - meanValue)
            variance += (sample.minute - meanTime) * (sample.minute - meanTime)
        }
        let slope = variance > 0 ? covariance / variance : 0
        let minutes = (samples.last?.minute ?? 0) - (samples.first?.minute ?? 0)
        return Growth(
            figure: figure, perHour: slope * 60, growth: slope * minutes, limit: max(least, meanValue / 10))
    }

    var text: String {
        var lines = growths.map { growth in
            String(
                format: "%@: %+.2f per hour, %+.2f in the measured time, limit %.2f: %@", growth.figure, growth.perHour,
                growth.growth, growth.limit, growth.isPassed ? "no slope" : "grows")
        }
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.value > $1.value }.map { "\($0.key) × \($0.value)" }.joined(separator: ", ")
        }
        if !refusals.isEmpty { lines.append("refused: \(list(refusals))") }
        if !serverFailures.isEmpty { lines.append("failed: \(list(serverFailures))") }
        if let ending { lines.append("The server ended with \(ending).") }
        lines.append(isPassed ? "passed" : "FAILED")
        return lines.joined(separator: "\n")
    }
}
