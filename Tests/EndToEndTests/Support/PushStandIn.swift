import Foundation
import TestSupport
import Testing

/// A stand-in for a push service, run as a child process.
///
/// It follows the service's published rules and was written only from the service's documentation
/// (`Tests/PushStandIns`).
final class PushStandIn: Sendable {
    private let process: ChildProcess
    private let control: API
    private let ready: Members
    private let folder: TemporaryFolder

    /// Starts a stand-in.
    ///
    /// The test must have the trait `needs(.standIns)`.
    ///
    /// - Parameter settings: The settings of the stand-in, as its README lists them.
    static func start(_ service: String, settings: [String: Any] = [:]) async throws -> PushStandIn {
        try await PushStandIn(
            service, Requirement.standIns.path(), package.appending(path: "Tests/PushStandIns"), settings)
    }

    private static let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }

    private init(_ service: String, _ python: String, _ home: URL, _ settings: [String: Any]) async throws {
        folder = try TemporaryFolder()
        let config = folder.url.appending(component: "settings.json")
        try JSONSerialization.data(withJSONObject: settings).write(to: config)
        let process = try ChildProcess(
            "/usr/bin/env",
            ["PYTHONPATH=\(home.path)", "PYTHONDONTWRITEBYTECODE=1", python, "-m", "standins", "serve", service]
                + ["--directory", folder.url.path, "--config", config.path],
            name: "stand-in", folder: folder.url, hasInput: true)
        self.process = process
        let line = try await eventually("the stand-in for \(service) is ready", within: 60) {
            if let code = process.end {
                throw ChildProcess.Failure(description: "The stand-in ended with \(code): \(process.errorText)")
            }
            return process.outputText.contains("\n") ? process.outputText : nil
        }
        ready = Members(Array(line.utf8))
        let address = try #require(ready.string("control").flatMap { URL(string: $0) })
        control = API(server: address)
    }

    deinit {
        process.kill()
    }

    /// Returns one of the strings that the stand-in reports when it is ready, such as its endpoint or a key.
    func string(_ name: String) throws -> String { try #require(ready.string(name), "The stand-in has no \(name).") }

    func value(_ name: String) throws -> Any { try #require(ready.all[name], "The stand-in has no \(name).") }

    /// Returns the text of a file that the stand-in wrote.
    func file(_ name: String) throws -> String { try String(contentsOfFile: string(name), encoding: .utf8) }

    // MARK: Commands

    @discardableResult
    func order(_ path: String, _ body: [String: Any]) async throws -> Members {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        let answer = try await control.call("POST", path, json)
        try #require(answer.status == 200, "\(path): \(answer)")
        return answer.json
    }

    /// Makes the next requests fail with the given faults, in this order.
    func fail(next faults: [[String: Any]]) async throws { try await order("/faults", ["faults": faults]) }

    /// Creates devices and returns the members of their push registrations, except `service`.
    func devices(_ count: Int, _ options: [String: Any] = [:]) async throws -> [[String: Any]] {
        let tokens = try await order("/devices", options.merging(["count": count]) { $1 }).all["tokens"] as? [Any]
        return try #require(tokens).map { token in
            if let token = token as? String { return ["token": token] }
            let subscription = token as? [String: String] ?? [:]
            return [
                "token": subscription["endpoint"] ?? "",
                "keys": ["p256dh": subscription["p256dh"] ?? "", "auth": subscription["auth"] ?? ""],
            ]
        }
    }

    // MARK: Received requests

    func list(_ path: String, _ name: String? = nil) async throws -> [[String: Any]] {
        let bytes = try await control.call("GET", path).bytes
        let object = try JSONSerialization.jsonObject(with: Data(bytes))
        let list: Any? = if let name { (object as? [String: Any])?[name] } else { object }
        return try #require(list as? [[String: Any]])
    }

    /// Returns the notifications that the stand-in accepted, in order.
    func received() async throws -> [[String: Any]] { try await list("/received", "notifications") }

    /// Returns the stand-in's counts of requests, connections and tokens.
    func counts() async throws -> Members { try await control.call("GET", "/counts").json }

    /// Returns the violated rules of the refused requests.
    func refused() async throws -> [String] {
        try await list("/refused").map { "\($0["rule"] ?? "") \($0["detail"] ?? "")" }
    }
}
