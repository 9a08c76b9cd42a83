import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackModel
import ScrollbackServer

/// What a server, and whatever stands before it, answers.
struct ServerChecks {
    let address: URL
    /// An administrator's, where there is one.
    let token: String?

    private static let names = ["ready", "clock", "version", "admin key", "WebSocket"]

    func run() async -> [Finding] {
        let certificate = await CertificateCheck(address: address).run()
        let health: HTTPClientResponse
        let body: String
        let asked = Date()
        do {
            (health, body) = try await get("/healthz")
        } catch {
            let unreachable = unanswered(error)
            return certificate + [unreachable] + Self.names.map { .skipped($0, "the server does not answer") }
        }
        let answered = Date()
        guard health.status == .ok, body.contains(#""status":"ok""#) else {
            let other = Finding.failed(
                "server", "what answers at \(address.absoluteString) is no Scrollback server (\(health.status.code))",
                fix: "name the server's address with --server; a proxy must hand on every path, /healthz too")
            return certificate + [other] + Self.names.map { .skipped($0, "no Scrollback server answers") }
        }
        let milliseconds = Int(answered.timeIntervalSince(asked) * 1000)
        let found = Finding.ok("server", "\(address.absoluteString) answers, in \(milliseconds) ms")
        return certificate + [found, await readiness(), clock(health, asked, answered), version(body)]
            + [await key(), await socket()]
    }

    private func get(_ path: String, token: String? = nil) async throws -> (HTTPClientResponse, String) {
        let text = address.absoluteString
        var request = HTTPClientRequest(url: (text.hasSuffix("/") ? String(text.dropLast()) : text) + path)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        let response = try await ServerAPI.client.execute(request, timeout: .seconds(10))
        return (response, String(buffer: try await response.body.collect(upTo: 1 << 20)))
    }

    /// Libraries' errors print their whole story.
    private func unanswered(_ error: any Error) -> Finding {
        let story = "\(error)".prefix { $0 != "\n" }
        if story.contains("CERTIFICATE_VERIFY_FAILED") {
            return .failed(
                "server", "the certificate of \(address.absoluteString) is not trusted here",
                fix: "give --tls-certificate the whole chain, of an authority this machine knows, for this very name")
        }
        let reason = story.contains("Connection refused") ? "connection refused" : String(story.prefix(160))
        return .failed(
            "server", "\(address.absoluteString) does not answer (\(reason))",
            fix: "start it (scrollback serve), or name its address with --server")
    }

    private func readiness() async -> Finding {
        guard let (response, body) = try? await get("/readyz") else {
            return .failed("ready", "it did not say within 10 s", fix: "look at its log and the load of its disk")
        }
        guard response.status == .ok else {
            return .failed(
                "ready", "it takes no requests (\(response.status.code)): \(body.prefix(200))",
                fix: "wait if it is starting or stopping; otherwise look at its log")
        }
        return .ok("ready", "it takes requests, and reads its store")
    }

    /// The header is to the second.
    private func clock(_ response: HTTPClientResponse, _ asked: Date, _ answered: Date) -> Finding {
        guard let text = response.headers.first(name: "Date"), let date = Date(http: text) else {
            return .skipped("clock", "the answer does not say what time it is")
        }
        let low = date.timeIntervalSince(answered)
        let difference = low > 0 ? low : min(0, date.addingTimeInterval(1).timeIntervalSince(asked))
        let detail =
            "the server's clock is \(Int(abs(difference))) s \(difference < 0 ? "behind" : "ahead of") this one"
        if abs(difference) < 2 { return .ok("clock", "the server's clock and this one agree") }
        let fix = "let a time service set both: systemctl enable --now systemd-timesyncd"
        return abs(difference) < 60
            ? .warning("clock", detail, fix: fix)
            : .failed("clock", "\(detail): tokens and certificates end too early or too late", fix: fix)
    }

    private func version(_ body: String) -> Finding {
        guard let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any],
            let version = object["version"] as? String
        else { return .warning("version", "the server does not say its version", fix: "bring it up to date") }
        guard version == Server.version else {
            return .warning(
                "version", "the server is \(version), and this program \(Server.version)",
                fix: "use the same version of both")
        }
        return .ok("version", "both are \(version)")
    }

    private func key() async -> Finding {
        guard let token else {
            return .skipped("admin key", "there is none here: name the data directory with --data, or give --key")
        }
        guard let (response, body) = try? await get("/v1/conversations?limit=1", token: token) else {
            return .failed("admin key", "the server did not answer", fix: "look at its log")
        }
        switch response.status.code {
        case 200: return .ok("admin key", "the server takes it")
        case 401:
            return .failed(
                "admin key", "the server does not take it: another secret signed it",
                fix: "name the data directory that this server runs on with --data, or give its admin.key with --key")
        case let code:
            return .failed(
                "admin key", "asked with it, the server answered \(code): \(body.prefix(200))", fix: "look at its log")
        }
    }
}
