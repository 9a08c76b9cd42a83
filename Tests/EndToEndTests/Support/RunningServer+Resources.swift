import Foundation
import Testing

/// The memory and CPU time of the server, which only Linux reports.
extension RunningServer {
    /// Whether the system reports them.
    ///
    /// On Linux, tests fail if `/proc` is missing, and are not skipped.
    #if os(Linux)
        static let reportsResources = true
    #else
        static let reportsResources = false
    #endif

    /// The resident memory in bytes, or `nil` if the system does not report it.
    var residentBytes: Int? { status("VmRSS") }

    /// The peak of the resident memory in bytes since the start or the last `resetPeak`.
    var peakResidentBytes: Int? { status("VmHWM") }

    /// Makes the current memory the peak.
    func resetPeak() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(pid)/clear_refs"))
    }

    private func status(_ name: String) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }

    /// The CPU time of all threads since the start, in seconds.
    var cpuSeconds: Double {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            let end = try #require(text.lastIndex(of: ")"))
            let fields = text[text.index(after: end)...].split(separator: " ")
            let ticks = try #require(Double(fields[11])) + #require(Double(fields[12]))
            return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }
}
