import ArgumentParser
import Configuration
import Foundation
import Logging
import ScrollbackModel
import ScrollbackServer
import SystemPackage

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a server on embedded SQLite.",
        discussion: """
            The data directory is made on first start, with a secret that signs tokens (secrets.json) and an admin key \
            (admin.key). SIGTERM and SIGINT finish what is under way, tell connections to come back, and exit with 0.

            Settings come from these options, then from the environment (SCROLLBACK_HOST, SCROLLBACK_TLS_CERTIFICATE, …), \
            then from the JSON file given with --config ({"host": "0.0.0.0", "tls": {"certificate": "chain.pem"}}).
            """)

    @Option(help: "The address to listen on (default: 127.0.0.1).")
    var host: String?

    @Option(help: "The port to listen on, 0 for any free one (default: 8080).")
    var port: Int?

    @Option(help: "The data directory (default: ./scrollback-data).")
    var data: String?

    @Option(help: "A JSON file with settings.")
    var config: String?

    @Option(help: "A certificate chain in PEM; taken over anew when the file changes.")
    var tlsCertificate: String?

    @Option(help: "The certificate's key in PEM.")
    var tlsKey: String?

    @OptionGroup var sealing: StoreKeyOptions

    @Option(
        help: """
            Public keys of others who sign tokens: a PEM file, a JWK Set, or a directory of *.pem and *.json; taken over \
            anew when they change.
            """)
    var tokenKeys: String?

    @Option(help: "What such a token must have in iss.")
    var tokenIssuer: String?

    @Option(help: "What such a token must have in aud; without it, it may have none.")
    var tokenAudience: String?

    @Flag(inversion: .prefixedNo, help: "Let such a token have the scope admin (default: no).")
    var tokenAdmin: Bool?

    @Option(
        help: """
            A JSON file with credentials of push services, {"push": {"services": {…}}} as PUT /v1/settings takes them; \
            it wins over the settings, and is taken over anew when it changes.
            """)
    var pushCredentials: String?

    @Option(help: "Messages a second one user may send; 0 for no limit (default: 20).")
    var sendRate: Double?

    @Option(help: "Messages at once one user may send (default: 40).")
    var sendBurst: Double?

    @Flag(
        inversion: .prefixedNo,
        help: "Tell clients with 104 that an upload can be gone on with; some proxies take it for the answer.")
    var announceUploads: Bool?

    @Option(help: "How much is logged: trace, debug, info, notice, warning or error (default: info).")
    var logLevel: String?

    @Flag(help: "Make a small community to look at, where there is none, and say what to try.")
    var demo = false

    @Flag(help: "Print the address as a JSON object.")
    var json = false

    func run() async throws {
        try await reporting {
            let settings = try await readSettings()
            var options = ServerOptions(
                directory: URL(
                    filePath: data ?? settings.string(forKey: "data") ?? "./scrollback-data",
                    directoryHint: .isDirectory))
            options.host = host ?? settings.string(forKey: "host") ?? options.host
            options.port = port ?? settings.int(forKey: "port") ?? options.port
            guard (0...65535).contains(options.port) else {
                throw ChatError.invalidParameter("port", "must be in 0...65535")
            }
            options.certificate = tlsCertificate ?? settings.string(forKey: "tls.certificate")
            options.key = tlsKey ?? settings.string(forKey: "tls.key")
            options.tokenTrust = try tokenTrust(settings)
            let rate = sendRate ?? settings.double(forKey: "send.rate") ?? options.sendRate ?? 0
            guard rate >= 0 else { throw ChatError.invalidParameter("send-rate", "must be 0 or above") }
            options.sendRate = rate == 0 ? nil : rate
            options.sendBurst = sendBurst ?? settings.double(forKey: "send.burst") ?? max(40, rate * 2)
            guard options.sendBurst >= 1 else { throw ChatError.invalidParameter("send-burst", "must be 1 or above") }

            options.announcesUploads =
                announceUploads ?? settings.bool(forKey: "announce.uploads") ?? options.announcesUploads

            options.storeKeys = try sealing.keys { settings.string(forKey: ConfigKey($0)) }
            options.pushCredentials = pushCredentials ?? settings.string(forKey: "push.credentials")
            options.pushAuthorities = settings.string(forKey: "push.authorities")
            options.pushRetrySeconds = settings.double(forKey: "push.retry.seconds") ?? options.pushRetrySeconds
            guard options.pushRetrySeconds > 0 else {
                throw ChatError.invalidParameter("push.retry.seconds", "must be above 0")
            }

            let level = logLevel ?? settings.string(forKey: "log.level") ?? "info"
            guard let level = Logger.Level(rawValue: level) else {
                throw ChatError.invalidParameter("log-level", "must be trace, debug, info, notice, warning or error")
            }
            LoggingSystem.bootstrap { label in
                var handler = StreamLogHandler.standardError(label: label)
                handler.logLevel = level
                return handler
            }
            options.makesDemo = demo
            let isJSON = json
            let hints = demo ? hints(options) : []
            try await Server(options, logger: Logger(label: "scrollback")).run { address in
                if isJSON {
                    Output.json { $0.field("listening", address) }
                } else {
                    Output.line("listening on \(address)")
                    for hint in hints { Output.line(hint) }
                }
            }
        }
    }

    /// Whose tokens are taken besides those that are made here.
    private func tokenTrust(_ settings: ConfigReader) throws(ChatError) -> TokenTrust? {
        let issuer = tokenIssuer ?? settings.string(forKey: "token.issuer")
        let audience = tokenAudience ?? settings.string(forKey: "token.audience")
        let mayGrantAdmin = tokenAdmin ?? settings.bool(forKey: "token.admin")
        guard let keys = tokenKeys ?? settings.string(forKey: "token.keys") else {
            for (name, isSet) in [
                ("token-issuer", issuer != nil), ("token-audience", audience != nil),
                ("token-admin", mayGrantAdmin == true),
            ] where isSet {
                throw .invalidParameter(name, "is about tokens by keys of others: give token-keys too")
            }
            return nil
        }
        for (name, value) in [("token-keys", keys), ("token-issuer", issuer), ("token-audience", audience)]
        where value == "" {
            throw .invalidParameter(name, "must not be empty: leave it out")
        }
        return TokenTrust(keys: keys, issuer: issuer, audience: audience, mayGrantAdmin: mayGrantAdmin ?? false)
    }

    /// Three things to try, as they can be typed in another terminal.
    private func hints(_ options: ServerOptions) -> [String] {
        let program = CommandLine.arguments.first ?? "scrollback"
        let server = options.port == 8080 ? "" : " --server http://127.0.0.1:\(options.port)"
        let data =
            options.directory.relativePath == "./scrollback-data" ? "" : " --data \(options.directory.relativePath)"
        return [
            "", "Three things to try, in another terminal:",
            "  \(program) chat group:albatross --as alice\(server)\(data)",
            "  \(program) history community:harbour/general --as bob --limit 10\(server)\(data)",
            "  \(program) recents --as alice\(server)\(data)", "",
        ]
    }

    private func readSettings() async throws -> ConfigReader {
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "scrollback")
        guard let config else { return ConfigReader(provider: environment) }
        do {
            return ConfigReader(providers: [environment, try await FileProvider<JSONSnapshot>(filePath: .init(config))])
        } catch {
            throw ChatError(
                .invalidParameter, "the settings \(config) can't be read as JSON", parameter: "config", cause: error)
        }
    }
}
