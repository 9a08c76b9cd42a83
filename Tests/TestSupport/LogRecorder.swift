package import Logging
import Synchronization

/// Records log lines, each with its metadata sorted by name.
package final class LogRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    package init() {}

    package var lines: [String] { recorded.withLock { $0 } }
    package var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let parts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            recorder.recorded.withLock { $0.append("\(event.message)" + parts.joined()) }
        }
    }
}
