package import Foundation
package import ScrollbackModel
import SQLiteSupport

/// The file that marks a data directory whose messages are in a PostgreSQL database.
///
/// Without it, a server that is started without `--store` would create a new, empty store.
package enum PostgresMarker {
    private static func file(in directory: URL) -> URL { directory.appending(component: "uses-postgresql") }

    package static func exists(in directory: URL) -> Bool {
        FileManager.default.fileExists(atPath: file(in: directory).path)
    }

    static func create(in directory: URL) throws(ChatError) {
        try PrivateFiles.createFile(file(in: directory), errorCode: .internalError)
    }

    /// Checks that the messages are in the data directory.
    ///
    /// - Parameter parameter: The name of the option that names the directory.
    package static func checkMissing(in directory: URL, parameter: String) throws(ChatError) {
        guard exists(in: directory) else { return }
        throw .invalidParameter(
            parameter,
            "has no messages, because they are in a PostgreSQL database (\(directory.path)). Use PostgreSQL's tools, "
                + "such as pg_dump and pg_amcheck")
    }
}
