import Foundation
import Testing

extension RunningServer {
    /// Runs `scrollback backup` and writes the backup to a folder beside the data directory.
    @discardableResult
    func backUp(_ name: String, within seconds: Double = 120) async throws -> (folder: URL, report: Members) {
        let backup = folder.appending(component: name)
        let ended = try await Self.command(
            ["backup", backup.path, "--data", data.path, "--json"], within: seconds)
        try #require(ended.code == 0, "\(ended.errors)")
        return (backup, Members(Array(ended.output.utf8)))
    }

    /// Runs `scrollback restore`.
    @discardableResult
    static func restore(_ backup: URL, to data: URL) async throws -> Members {
        let ended = try await command(["restore", backup.path, "--data", data.path, "--json"])
        try #require(ended.code == 0, "\(ended.errors)")
        return Members(Array(ended.output.utf8))
    }

    /// Runs `scrollback verify` on a directory.
    static func verdict(_ directory: URL) async throws -> (isWhole: Bool, text: String) {
        let ended = try await command(["verify", directory.path], within: 600)
        return (ended.code == 0, ended.output + ended.errors)
    }

    /// Replaces the data directory of this server, which must not be running.
    func replaceData(with directory: URL) throws {
        try FileManager.default.moveItem(at: data, to: folder.appending(component: "data-\(UUID().uuidString)"))
        try FileManager.default.moveItem(at: directory, to: data)
    }
}
