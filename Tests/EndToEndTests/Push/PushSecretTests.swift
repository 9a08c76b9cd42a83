import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSQLite
import TestSupport
import Testing

/// The credentials that identify an app to the services, which must stay secret.
@Suite("Secrets of push services", .timeLimit(.minutes(5)))
struct PushSecretTests {
    /// The location of the secret in the settings of each service.
    private static let places: [(service: String, path: [String])] = [
        ("apns", ["key"]), ("fcm", ["serviceAccount", "private_key"]), ("webpush", ["privateKey"]),
        ("huawei", ["appSecret"]), ("harmonyos", ["serviceAccount", "private_key"]), ("honor", ["clientSecret"]),
        ("xiaomi", ["appSecret"]), ("oppo", ["masterSecret"]), ("vivo", ["appSecret"]), ("webhook", ["secret"]),
    ]

    /// A service with its settings and a device.
    private struct Party {
        /// The service's name in settings.
        var name: String
        var credentials: [String: Any]
        var device: [String: Any]
        /// The parts of the secret that have the same form everywhere, because JSON escapes none of their characters.
        var parts: [String]
        var standIn: PushStandIn?

        init(
            _ service: String, _ path: [String], _ credentials: [String: Any], device: [String: Any],
            standIn: PushStandIn? = nil
        ) throws {
            name = PushServer.name(service)
            (self.credentials, self.device, self.standIn) = (credentials, device, standIn)
            let secret = path.reduce(credentials as Any?) { ($0 as? [String: Any])?[$1] } as? String
            let runs = try #require(secret).split { !$0.isASCII || !($0.isLetter || $0.isNumber || "-_".contains($0)) }
            parts = runs.map(String.init).filter { $0.count >= 12 && !$0.contains("-----") }
            try #require(parts.joined().count >= 16, "\(service)")
        }

        /// Returns a change of settings with other values for some members. The value `nil` removes a member.
        func change(_ members: [String: Any?] = [:]) throws -> String {
            var credentials = credentials
            for (name, value) in members { credentials[name] = value }
            let settings = ["push": ["services": [name: credentials]]]
            return String(decoding: try JSONSerialization.data(withJSONObject: settings), as: UTF8.self)
        }
    }

    private func parties(_ receiver: WebhookReceiver) async throws -> [Party] {
        var parties: [Party] = []
        for (service, path) in Self.places {
            guard service != "webhook" else {
                let credentials = ["url": receiver.url, "secret": "tell-nobody-0123456789"]
                parties.append(try Party(service, path, credentials, device: ["token": "a"]))
                continue
            }
            let standIn = try await PushStandIn.start(service)
            let options = service == "webpush" ? ["applicationServerKey": PushServer.webKey.publicKey] : [:]
            parties.append(
                try Party(
                    service, path, PushServer.credentials(service, standIn),
                    device: #require(try await standIn.devices(1, options).first), standIn: standIn))
        }
        return parties
    }

    @Test(
        "No secret of a push service is in the displayed settings, in a refusal, or in the log at any level",
        .needs(.standIns))
    func secretsAreNeverDisclosed() async throws {
        let receiver = WebhookReceiver()
        try await receiver.start()
        let parties = try await parties(receiver)
        let standIns = parties.compactMap(\.standIn)
        let push = try await PushServer.start(
            Dictionary(uniqueKeysWithValues: zip(Self.places.map(\.service), standIns)),
            arguments: ["--log-level", "trace"])
        var answers: [String] = []
        func call(_ method: String, _ path: String, _ body: String?, by api: API? = nil) async throws -> Answer {
            let answer = try await (api ?? push.admin).call(method, path, body)
            answers.append(answer.text)
            return answer
        }
        /// Returns the outcome of a push to each service.
        func outcomes() async throws -> [String: String] {
            let trials = try await call("POST", "/v1/admin/users/bob/push", "{}").json.objects("devices")
            return Dictionary(
                trials.map { ($0["service"] as? String ?? "", $0["outcome"] as? String ?? "") },
                uniquingKeysWith: { $1 })
        }

        for party in parties {
            #expect(try await call("PUT", "/v1/settings", party.change()).status == 200)
            try await push.server.api("bob").register(party.name, party.device)
        }
        #expect(try await outcomes() == Dictionary(uniqueKeysWithValues: parties.map { ($0.name, "sent") }))

        // Send invalid changes, and a change by a user who may not make it.
        for party in parties {
            for member in party.credentials.keys {
                let wrong = try await call("PUT", "/v1/settings", party.change([member: ["not": "this"]]))
                #expect(wrong.status == 422, "\(party.name) \(member)")
                let without = try await call("PUT", "/v1/settings", party.change([member: nil]))
                #expect([200, 422].contains(without.status), "\(party.name) \(member)")
            }
            let good = try party.change()
            for (body, status) in [
                (String(good.dropLast(2)), 400), (good.replacing("services", with: "service"), 422),
                (good.replacing("{\"\(party.name)\"", with: "{\"none\""), 422),
            ] {
                #expect(try await call("PUT", "/v1/settings", body).status == status, "\(party.name)")
            }
            let bob = try await push.server.api("bob")
            #expect(try await call("PUT", "/v1/settings", good, by: bob).status == 403)
            // With another value, the server requests new access tokens.
            var again = party
            if party.credentials["retrySeconds"] != nil { again.credentials["retrySeconds"] = 2 }
            #expect(try await call("PUT", "/v1/settings", again.change()).status == 200)
        }

        // All services refuse requests, or cut the connections without a response.
        for fault: [String: Any] in [
            ["kind": "status", "status": 401, "on": "any", "count": 10],
            ["kind": "status", "status": 400, "on": "any", "count": 10], ["kind": "reset", "on": "any", "count": 10],
        ] {
            for standIn in standIns { try await standIn.fail(next: [fault]) }
            receiver.set(fault["kind"] as? String == "reset" ? .cuts : .answers("", status: 400))
            let outcomes = try await outcomes()
            #expect(outcomes.count == parties.count && !outcomes.values.contains("sent"), "\(outcomes)")
        }
        try await push.makeGroup("swift", members: ["alice", "bob"])
        try #require(try await push.server.api("alice").send("hi", to: "group:swift").status == 201)
        try await eventually("each service was tried") {
            let counted = try await push.admin.call("GET", "/metrics").text
            let isTried = parties.allSatisfy { counted.contains(#"scrollback_pushes_total{service="\#($0.name)""#) }
            return isTried ? true : nil
        }

        let settings = try await call("GET", "/v1/settings", nil)
        for party in parties { #expect(settings.text.contains(#""\#(party.name)":{"isSet":true"#)) }
        #expect(try await push.server.terminate() == 0)
        #expect(
            push.server.log.contains(" trace ") && push.server.log.contains(" debug "), "The log level was not applied."
        )
        let store = try SQLiteStore(directory: push.server.data)
        let stored = try #require(try store.read { try $0.settings() }).text
        try store.close()
        for party in parties {
            for part in party.parts {
                // The settings contain the part, so the search would find it.
                #expect(stored.contains(part), "\(party.name)")
                #expect(!push.server.log.contains(part), "The log contains a secret of \(party.name).")
                #expect(!answers.contains { $0.contains(part) }, "A response contains a secret of \(party.name).")
            }
        }
        try await receiver.stop()
    }
}

extension API {
    /// Registers a device by the name of its service.
    fileprivate func register(_ service: String, _ device: [String: Any]) async throws {
        let body = device.merging(["service": service]) { $1 }
        let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
        let answer = try await call("PUT", "/v1/push/devices/\(service)", json)
        try #require(answer.status == 200, "\(answer)")
    }
}
