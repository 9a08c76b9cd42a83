import Foundation
import ScrollbackModel

/// Writes results to standard output and everything else to standard error.
enum Output {
    /// Writes a line and replaces control characters, so that message texts can't control the terminal.
    static func line(_ text: String) {
        write(text.printable + "\n", to: STDOUT_FILENO)
    }

    /// Writes the complete text.
    ///
    /// Exits the process if the reader has closed the pipe, for example `head`, or if writing fails.
    static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno != EINTR {
                exit(errno == EPIPE ? 0 : 1)
            }
        }
    }

    /// Writes a JSON object as one line.
    static func json(_ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        json(writer)
    }

    /// Writes a JSON value as one line.
    static func json(_ json: RawJSON) {
        var writer = JSONWriter()
        writer.value(json)
        self.json(writer)
    }

    /// Writes the content of a JSON writer as one line.
    static func json(_ writer: borrowing JSONWriter) {
        write(String(decoding: writer.line, as: UTF8.self) + "\n", to: STDOUT_FILENO)
    }

    static func error(_ text: String) {
        write(text.printable + "\n", to: STDERR_FILENO)
    }
}

extension String {
    /// The text with control characters replaced, except line breaks and tabs.
    ///
    /// Control characters in a message could clear the screen, forge lines, or write to the clipboard.
    var printable: String {
        func isControl(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t"
        }
        guard unicodeScalars.contains(where: isControl) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }
}

/// Reports progress on standard error: a progress bar in a terminal, otherwise a line every 10 seconds.
struct Progress {
    private let label: String
    let total: Int
    private let isBytes: Bool
    private let isTerminal = isatty(2) == 1
    private let start = Date()
    /// What was done before, for example by an interrupted run.
    private var doneBefore: Int?
    private var lastShown = Date.distantPast

    /// Creates a progress report.
    ///
    /// - Parameters:
    ///   - label: The text before the percentage.
    ///   - total: The number of units of the complete work.
    ///   - isBytes: Whether the units are bytes.
    init(_ label: String, total: Int, isBytes: Bool = false) {
        self.label = label
        self.total = total
        self.isBytes = isBytes
    }

    mutating func show(_ done: Int, _ note: String = "") {
        doneBefore = doneBefore ?? done
        let now = Date()
        guard now.timeIntervalSince(lastShown) > (isTerminal ? 0.1 : 10) else { return }
        lastShown = now
        draw(done, note)
    }

    func finish(_ done: Int, _ note: String = "") {
        draw(done, note)
        if isTerminal { Output.write("\n", to: STDERR_FILENO) }
    }

    private func draw(_ done: Int, _ note: String) {
        let fraction = total == 0 ? 1 : min(1, Double(done) / Double(total))
        let rate = Double(done - (doneBefore ?? 0)) / max(0.001, Date().timeIntervalSince(start))
        let percent = String(format: "%3.0f %%", fraction * 100)
        func count(_ number: Int) -> String { isBytes ? Bytes.text(Int64(number)) : String(number) }
        let amount = "\(count(done)) of \(count(total)), \(count(Int(rate))) per second"
        let text = "\(label) \(percent)  \(amount)\(note.isEmpty ? "" : "  \(note)")"
        if isTerminal {
            let filled = Int(fraction * 30)
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
            Output.write("\r\u{1B}[K\(bar) \(text)", to: STDERR_FILENO)
        } else {
            Output.error(text)
        }
    }
}

/// Reports the progress of several steps, one after the other.
struct StepProgress {
    private var step: (label: String, progress: Progress)?

    mutating func show(_ label: String, _ done: Int64, of total: Int64) {
        if step?.label != label {
            finish()
            step = (label, Progress(label, total: Int(total)))
        }
        step?.progress.show(Int(done))
    }

    /// Ends the last step.
    func finish() {
        guard let progress = step?.progress else { return }
        progress.finish(progress.total)
    }
}
