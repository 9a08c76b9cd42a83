import Foundation
import Testing

extension RunningServer {
    /// Backs a server's data directory up into a folder of the server's, by the command line.
    @discardableResult
    func backUp(_ name: String, within seconds: Double = 120) async throws -> (folder: URL, report: Members) {
        let backup = folder.appending(component: name)
        let ended = try await Self.command(
            ["backup", backup.path, "--data", data.path, "--json"], within: seconds)
        try #require(ended.code == 0, "\(ended.errors)")
        return (backup, Members(Array(ended.output.utf8)))
    }

    /// Restores a backup, by the command line.
    @discardableResult
    static func restore(_ backup: URL, to data: URL) async throws -> Members {
        let ended = try await command(["restore", backup.path, "--data", data.path, "--json"])
        try #require(ended.code == 0, "\(ended.errors)")
        return Members(Array(ended.output.utf8))
    }

    /// What `verify` has to say of a directory.
    static func verdict(_ directory: URL) async throws -> (isWhole: Bool, text: String) {
        let ended = try await command(["verify", directory.path], within: 600)
        return (ended.code == 0, ended.output + ended.errors)
    }

    /// Puts another data directory in the place of this server's, which is not running.
    func replaceData(with directory: URL) throws {
        try FileManager.default.moveItem(at: data, to: folder.appending(component: "data-\(UUID().uuidString)"))
        try FileManager.default.moveItem(at: directory, to: data)
    }
}
