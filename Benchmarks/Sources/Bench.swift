import ArgumentParser
import Foundation

/// The entry point of the program.
///
/// It is not `async`, because an asynchronous `main` ends the main thread, which valgrind 3.19 does not survive.
@main
enum Program {
    static func main() {
        if let command = try? Bench.parseAsRoot() as? Instructions {
            do { try command.runUnderCounter() } catch { Bench.exit(withError: error) }
        } else {
            Task {
                await Bench.main()
                Bench.exit()
            }
            dispatchMain()
        }
    }
}

/// Measures the performance budgets of Documentation/architecture.md, next to the limits of the machine.
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the performance budgets, in a release build (-c release).",
        subcommands: [
            EngineAppend.self, Send.self, EnginePage.self, HTTPPage.self, FanOut.self, Idle.self, CatchUp.self,
            ClientPage.self, ClientIngest.self, Search.self, SearchHTTP.self, HistoryCost.self, StoreGrowth.self,
            Retention.self,
            MediaFiles.self, MediaSends.self, RecentsList.self, Community.self, Storm.self, StorageEncryptionCost.self,
            PushCost.self, NodeSends.self, Attack.self, AttackerProcess.self, Soak.self, Instructions.self,
        ])
}

/// A sample of durations, in seconds.
struct Sample {
    private var values: [Double] = []

    mutating func add(_ seconds: Double) { values.append(seconds) }
    mutating func add(_ other: Sample) { values += other.values }
    var count: Int { values.count }

    /// The mean in milliseconds.
    var mean: Double { values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count) * 1000 }

    /// Returns the value below which a fraction of the sample lies, in milliseconds.
    func percentile(_ fraction: Double) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))] * 1000
    }

    var summary: String {
        String(
            format: "p50 %.3f ms  p90 %.3f  p99 %.3f  max %.3f", percentile(0.5), percentile(0.9), percentile(0.99),
            percentile(1))
    }
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    try body()
    return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
}

func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

func report(_ name: String, _ text: String) {
    print("\(name.padding(toLength: 34, withPad: " ", startingAt: 0)) \(text)")
    fflush(nil)
}

/// A temporary folder for one benchmark.
struct TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "scrollback-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(at: url) }
}
