package import Foundation
package import Testing

/// A file outside of the repository that some tests need: a program that a script installs, or test data.
package struct Requirement: Sendable {
    /// The file.
    package let file: URL
    /// What is missing without the file, as a sentence.
    fileprivate let reason: String

    /// Whether this is a run of CI, where nothing may be missing. `.ci/run` sets the environment variable `CI`.
    package static let isCI = ProcessInfo.processInfo.environment["CI"] != nil

    private static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    /// The Python environment of the stand-ins for push services, which also has the packages of other tests.
    package static let standIns = Requirement(
        file: root.appending(path: ".build/push-stand-ins/bin/python"),
        reason: "The stand-ins of other services are not installed. Run scripts/push-stand-ins.sh.")

    /// The NATS server, which is installed with the stand-ins.
    package static let nats = Requirement(
        file: root.appending(path: ".build/push-stand-ins/bin/nats-server"),
        reason: "The NATS server is not installed. Run scripts/push-stand-ins.sh.")

    /// The URL of a PostgreSQL server for tests.
    package static let postgres = Requirement(
        file: root.appending(path: ".build/test-postgres/url"),
        reason: "No PostgreSQL server for tests is running. Run scripts/test-postgres.sh.")

    /// The URL of a bucket on an S3 server for tests.
    package static let s3 = Requirement(
        file: root.appending(path: ".build/test-s3/url"),
        reason: "No S3 server for tests is running. Run scripts/test-s3.sh.")

    /// HAProxy, the load balancer of tests with several servers.
    package static let haProxy = Requirement(
        file: URL(filePath: "/usr/sbin/haproxy"),
        reason: "HAProxy is not installed. Run scripts/install-haproxy.sh.")

    /// A file of real chat logs (see CONTRIBUTING.md, "Tests").
    ///
    /// The environment variable `SCROLLBACK_CHATLOGS` names their folder. By default, it is `shared/data/chatlogs` in
    /// the repository or beside it.
    package static func chatLog(
        _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Requirement {
        let usual = [root.deletingLastPathComponent(), root].map { $0.appending(path: "shared/data/chatlogs") }
        let folders = environment["SCROLLBACK_CHATLOGS"].map { [URL(filePath: $0)] } ?? usual
        let files = folders.map { $0.appending(path: name) }
        let known = files.first { FileManager.default.fileExists(atPath: $0.path) }
        return Requirement(
            file: known ?? files[0],
            reason: "The chat log \(name) is not on this machine. Set SCROLLBACK_CHATLOGS to its folder.")
    }

    fileprivate var isMet: Bool { FileManager.default.isReadableFile(atPath: file.path) }

    /// Returns the path of the file.
    ///
    /// - Throws: An error if the file is missing. Outside of CI, tests with the trait `needs` are skipped before.
    package func path() throws -> String {
        guard isMet else { throw Missing(description: reason) }
        return file.path
    }

    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test with a reason if this machine lacks a file that it needs. In CI, the test runs and fails.
    package static func needs(_ requirement: Requirement) -> Self {
        .enabled(if: Requirement.isCI || requirement.isMet, "\(requirement.reason)")
    }
}
