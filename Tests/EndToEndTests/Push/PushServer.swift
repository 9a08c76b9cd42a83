import Foundation
import ScrollbackModel
import TestSupport
import Testing

/// A real server with stand-ins for its push services.
struct PushServer: Sendable {
    let server: RunningServer
    let admin: API

    /// Returns a stand-in's credentials in the form of the server's settings.
    static func credentials(_ service: String, _ standIn: PushStandIn) throws -> [String: Any] {
        let endpoint = try standIn.string("endpoint")
        switch service {
        case "apns":
            return [
                "endpoint": endpoint, "key": try standIn.file("keyFile"), "keyID": try standIn.string("keyID"),
                "teamID": try standIn.string("teamID"), "topic": try standIn.string("topic"), "retrySeconds": 1,
            ]
        case "fcm":
            let account = try JSONSerialization.jsonObject(with: Data(standIn.file("serviceAccountFile").utf8))
            return ["endpoint": endpoint, "serviceAccount": account, "retrySeconds": 1]
        case "webpush":
            let port = try #require(URL(string: endpoint)?.port)
            return [
                "privateKey": webKey.privateKey, "subject": "mailto:push@example.com", "hosts": ["localhost:\(port)"],
                "retrySeconds": 1,
            ]
        case "huawei":
            return [
                "endpoint": endpoint, "appID": try standIn.string("clientID"),
                "appSecret": try standIn.string("clientSecret"), "tokenEndpoint": try standIn.string("tokenEndpoint"),
                "retrySeconds": 1,
            ]
        case "harmonyos":
            let account = try JSONSerialization.jsonObject(with: Data(standIn.file("serviceAccountFile").utf8))
            return [
                "endpoint": endpoint, "serviceAccount": account, "clientID": try standIn.string("clientID"),
                "category": "IM", "retrySeconds": 1,
            ]
        case "honor":
            return [
                "endpoint": endpoint, "appID": try standIn.string("appID"), "clientID": try standIn.string("clientID"),
                "clientSecret": try standIn.string("clientSecret"),
                "tokenEndpoint": try standIn.string("tokenEndpoint"), "retrySeconds": 1,
            ]
        case "xiaomi":
            let channels = try standIn.value("channels") as? [String: String] ?? [:]
            return [
                "channel": channels.first { $0.value == "public" }?.key ?? "",
                "endpoint": endpoint, "appSecret": try standIn.string("appSecret"),
                "package": try standIn.string("packageName"), "retrySeconds": 1,
            ]
        case "oppo":
            return [
                "endpoint": endpoint, "appKey": try standIn.string("appKey"),
                "masterSecret": try standIn.string("masterSecret"), "retrySeconds": 1,
            ]
        default:
            return [
                "endpoint": endpoint, "appID": try standIn.value("appID"), "appKey": try standIn.string("appKey"),
                "appSecret": try standIn.string("appSecret"), "retrySeconds": 1,
            ]
        }
    }

    /// A P-256 key pair for Web Push. Browsers subscribe with the public key.
    static let webKey = (
        privateKey: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
        publicKey: "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
    )

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - standIns: The stand-ins by service.
    ///   - inFile: Whether the server reads the credentials from a file instead of its settings.
    static func start(
        _ standIns: [String: PushStandIn], arguments: [String] = [], inFile: Bool = false
    ) async throws -> PushServer {
        let folder = try TemporaryFolder()
        let services = try standIns.mapKeysAndValues { try (Self.name($0), credentials($0, $1)) }
        let file = Self.file(in: folder.url)
        if inFile {
            let members: [String: Any] = ["push": ["services": services]]
            try JSONSerialization.data(withJSONObject: members, options: .withoutEscapingSlashes).write(to: file)
        }
        var shell = "export SCROLLBACK_PUSH_RETRY_SECONDS=0.2"
        if !standIns.isEmpty {
            // Each stand-in has an authority of its own.
            let authorities = folder.url.appending(component: "authorities.pem")
            try standIns.values.map { try $0.file("authority") }.joined().write(
                to: authorities, atomically: true, encoding: .utf8)
            shell += " SCROLLBACK_PUSH_AUTHORITIES='\(authorities.path)'"
        }
        let server = try await RunningServer.start(
            RunningServer.withoutLimits + (inFile ? ["--push-credentials", file.path] : []) + arguments,
            shell: shell, folder: folder)
        let push = PushServer(server: server, admin: try await server.admin())
        if !inFile { try await push.set(["services": services]) }
        return push
    }

    private static func file(in folder: URL) -> URL { folder.appending(component: "push.json") }

    /// The credentials file.
    var file: URL { Self.file(in: server.folder) }

    /// Returns the service's name in registrations and metrics.
    static func name(_ service: String) -> String { ["webpush": "web", "harmonyos": "harmony"][service] ?? service }

    func set(_ push: [String: Any]) async throws {
        let json = String(decoding: try JSONSerialization.data(withJSONObject: ["push": push]), as: UTF8.self)
        let answer = try await admin.call("PUT", "/v1/settings", json)
        try #require(answer.status == 200, "\(answer)")
    }

    func makeGroup(_ name: String, members: [String]) async throws {
        let names = members.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await admin.call("PUT", "/v1/conversations/group:\(name)", #"{"members":[\#(names)]}"#)
        try #require(answer.status < 300, "\(answer)")
    }

    /// Registers a device as its app would.
    func register(_ user: String, _ service: String, _ device: [String: Any], name: String = "phone") async throws {
        let body = device.merging(["service": Self.name(service)]) { $1 }
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        let answer = try await server.api(UserID(user)).call("PUT", "/v1/push/devices/\(name)", json)
        try #require(answer.status == 200, "\(answer)")
    }

    /// Waits until no push is queued.
    func pushed(within seconds: Double = 60) async throws {
        try await eventually("no push is queued", within: seconds) {
            let waiting = try await server.metric("scrollback_push_waiting")
            let retries = try await server.metric("scrollback_push_retries")
            return waiting + retries == 0 ? true : nil
        }
    }
}

extension Dictionary {
    fileprivate func mapKeysAndValues<Other>(
        _ body: (Key, Value) throws -> (Key, Other)
    ) rethrows -> [Key: Other] {
        Dictionary<Key, Other>(uniqueKeysWithValues: try map { try body($0.key, $0.value) })
    }
}
