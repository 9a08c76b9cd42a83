package import Foundation
package import ScrollbackModel

/// A file in a data directory which states that the messages or files of the server are stored elsewhere.
///
/// Without it, a server that is started without the option would begin with an empty store, and commands would ignore
/// the part that is elsewhere.
package enum DirectoryMarker: String, Sendable {
    /// The messages are in a PostgreSQL database.
    case postgres = "uses-postgresql"
    /// The files are in an S3-compatible store.
    case s3 = "uses-s3"

    private func file(in directory: URL) -> URL { directory.appending(component: rawValue) }

    package func exists(in directory: URL) -> Bool {
        FileManager.default.fileExists(atPath: file(in: directory).path)
    }

    /// Creates the marker.
    ///
    /// - Parameter place: Names the other place, or is empty.
    func create(in directory: URL, naming place: String = "") throws(ChatError) {
        guard self.place(in: directory) != place else { return }
        try DurableFile.write(Array(place.utf8), to: file(in: directory))
    }

    /// The name of the other place, or `nil` if there is no marker.
    func place(in directory: URL) -> String? { try? String(contentsOf: file(in: directory), encoding: .utf8) }

    /// Checks that the messages are in the data directory.
    ///
    /// - Parameter parameter: The name of the option that names the directory.
    package static func checkHasMessages(_ directory: URL, parameter: String) throws(ChatError) {
        guard postgres.exists(in: directory) else { return }
        throw .invalidParameter(
            parameter,
            "has no messages, because they are in a PostgreSQL database (\(directory.path)). Use its tools for "
                + "backups, such as pg_dump, and `scrollback verify --store` for checks")
    }
}
