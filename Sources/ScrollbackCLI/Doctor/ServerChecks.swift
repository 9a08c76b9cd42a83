import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ScrollbackModel
import ScrollbackServer

/// Checks a server, including the proxies in front of it.
struct ServerChecks {
    let address: URL
    /// An administrator token, or `nil` if none is available.
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
            let unreachable = connectionFailure(error)
            return certificate + [unreachable] + Self.names.map { .skipped($0, "The server does not respond.") }
        }
        let answered = Date()
        guard health.status == .ok, body.contains(#""status":"ok""#) else {
            let other = Finding.failed(
                "server", "\(address.absoluteString) is not a Scrollback server (status \(health.status.code)).",
                fix: "Use --server with the server's URL. A proxy must forward all paths, including /healthz.")
            return certificate + [other] + Self.names.map { .skipped($0, "The address is not a Scrollback server.") }
        }
        let milliseconds = Int(answered.timeIntervalSince(asked) * 1000)
        let found = Finding.ok("server", "\(address.absoluteString) responds in \(milliseconds) ms.")
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

    /// Keep only the first line, because errors of libraries can be long.
    private func connectionFailure(_ error: any Error) -> Finding {
        let story = "\(error)".prefix { $0 != "\n" }
        if story.contains("CERTIFICATE_VERIFY_FAILED") {
            return .failed(
                "server", "This machine does not trust the certificate of \(address.absoluteString).",
                fix:
                    "Use --tls-certificate with a complete chain for this host name, from a trusted authority."
            )
        }
        let reason = story.contains("Connection refused") ? "connection refused" : String(story.prefix(160))
        return .failed(
            "server", "\(address.absoluteString) does not respond: \(reason).",
            fix: "Start the server with scrollback serve, or use --server with its URL.")
    }

    private func readiness() async -> Finding {
        guard let (response, body) = try? await get("/readyz") else {
            return .failed(
                "ready", "The server did not respond within 10 s.", fix: "Check its log and the load of its disk.")
        }
        guard response.status == .ok else {
            return .failed(
                "ready", "The server accepts no requests (status \(response.status.code)): \(body.prefix(200))",
                fix: "If the server is starting or stopping, wait. Otherwise check its log.")
        }
        return .ok("ready", "The server accepts requests and can read its store.")
    }

    /// Compares the clocks.
    ///
    /// The `Date` header has a precision of one second.
    private func clock(_ response: HTTPClientResponse, _ asked: Date, _ answered: Date) -> Finding {
        guard let text = response.headers.first(name: "Date"), let date = Date(http: text) else {
            return .skipped("clock", "The response has no Date header.")
        }
        let low = date.timeIntervalSince(answered)
        let difference = low > 0 ? low : min(0, date.addingTimeInterval(1).timeIntervalSince(asked))
        let detail =
            "The server's clock is \(Int(abs(difference))) s \(difference < 0 ? "behind" : "ahead of") this machine's."
        if abs(difference) < 2 { return .ok("clock", "The server's clock and this machine's agree.") }
        let fix = "Synchronize both clocks, for example with systemctl enable --now systemd-timesyncd."
        return abs(difference) < 60
            ? .warning("clock", detail, fix: fix)
            : .failed("clock", "\(detail) Tokens and certificates expire at the wrong time.", fix: fix)
    }

    private func version(_ body: String) -> Finding {
        guard let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any],
            let version = object["version"] as? String
        else { return .warning("version", "The server reports no version.", fix: "Upgrade the server.") }
        guard version == Server.version else {
            return .warning(
                "version", "The server has version \(version), and this program has \(Server.version).",
                fix: "Use the same version for both.")
        }
        return .ok("version", "The server and this program have version \(version).")
    }

    private func key() async -> Finding {
        guard let token else {
            return .skipped("admin key", "No administrator token found. Use --data or --key-file.")
        }
        guard let (response, body) = try? await get("/v1/admin/users?limit=1", token: token) else {
            return .failed("admin key", "The server did not respond.", fix: "Check its log.")
        }
        switch response.status.code {
        case 200: return .ok("admin key", "The server accepts the administrator token.")
        case 401:
            return .failed(
                "admin key", "The server rejects the administrator token, because another secret signed it.",
                fix: "Use --data with this server's data directory, or --key-file with its admin.key.")
        case 403:
            let problem = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
            return .failed(
                "admin key", "The server refuses the token: \(problem?["detail"] as? String ?? "status 403.")",
                fix: """
                    Use the admin.key of this server's data directory, and --server with the address of serve \
                    --admin-address if the server has one.
                    """)
        case let code:
            return .failed(
                "admin key", "A request with the administrator token failed with status \(code): \(body.prefix(200))",
                fix: "Check the server's log.")
        }
    }
}
