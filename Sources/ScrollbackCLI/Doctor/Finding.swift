import Foundation
import ScrollbackModel

/// The result of one check.
struct Finding: Sendable {
    enum Outcome: String, Sendable {
        case ok, warning, failed, skipped
    }

    var check: String
    var outcome: Outcome
    /// The explanation, or the reason why the check was skipped.
    var detail: String
    /// How to fix the problem.
    var fix: String?

    static func ok(_ check: String, _ detail: String) -> Finding {
        Finding(check: check, outcome: .ok, detail: detail)
    }

    static func warning(_ check: String, _ detail: String, fix: String) -> Finding {
        Finding(check: check, outcome: .warning, detail: detail, fix: fix)
    }

    static func failed(_ check: String, _ detail: String, fix: String) -> Finding {
        Finding(check: check, outcome: .failed, detail: detail, fix: fix)
    }

    static func skipped(_ check: String, _ reason: String) -> Finding {
        Finding(check: check, outcome: .skipped, detail: reason)
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.field("check", check)
        writer.field("outcome", outcome.rawValue)
        writer.field("detail", detail)
        if let fix { writer.field("fix", fix) }
    }
}

extension Int64 {
    /// A byte count as readable text.
    var bytesText: String {
        self < 1 << 20 ? "\(self >> 10) KiB" : self < 1 << 30 ? "\(self >> 20) MiB" : "\(self >> 30) GiB"
    }
}
