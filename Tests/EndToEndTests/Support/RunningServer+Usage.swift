import Foundation

extension RunningServer {
    /// The resident memory in bytes, or `nil` if the system does not report it.
    var residentBytes: Int? {
        let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }

    /// The processor time that the server has used, in seconds, or `nil` if the system does not report it.
    var processorSeconds: Double? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        guard let fields = text?.split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
