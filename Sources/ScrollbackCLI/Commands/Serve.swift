import ArgumentParser
import Foundation
import Logging
import ScrollbackModel
import ScrollbackServer

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a server.",
        discussion: """
            The first start creates the data directory with a secret that signs tokens (secrets.json) and an \
            administrator token (admin.key). On SIGTERM or SIGINT, the server completes pending requests, asks clients \
            to reconnect, and exits with status 0. One of several nodes first gives its clients time to connect to \
            another node.

            Options take precedence over environment variables (SCROLLBACK_HOST, SCROLLBACK_TLS_CERTIFICATE, …), and \
            these over the JSON file of --config ({"host": "0.0.0.0", "tls": {"certificate": "chain.pem"}}).
            """)

    @Option(help: "The address to listen on (default: 127.0.0.1).")
    var host: String?

    @Option(help: "The TCP port to listen on, 0...65535. 0 selects a free port (default: 8080).")
    var port: Int?

    @Option(
        help: """
            HOST:PORT. The server offers the admin page and accepts administrators' tokens only there (default: at the \
            address of all users).
            """)
    var adminAddress: String?

    @Option(help: "The data directory (default: ./scrollback-data).")
    var data: String?

    @Option(
        help: """
            The URL of a PostgreSQL database for the messages, such as postgres://user@host:5432/database (default: an \
            SQLite store in the data directory). Prefer SCROLLBACK_STORE_URL if it contains a password. Keys and files \
            stay in the data directory.
            """)
    var store: String?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Whether the PostgreSQL server may have standbys for which commits don't wait. If one of them takes over, \
            confirmed messages can be lost (default: no).
            """)
    var allowAsynchronousStandbys: Bool?

    @Option(
        help: """
            The URL of a NATS server, such as nats://host:4222, or of several separated by commas. Then several \
            servers can use the database of --store at the same time. Prefer SCROLLBACK_BUS_URL if it contains a \
            password.
            """)
    var bus: String?

    @Option(
        help: """
            The bucket of an S3-compatible store for files, \
            s3://BUCKET?endpoint=https://HOST&region=REGION&prefix=PREFIX (default: the data directory). Without \
            endpoint, the store is Amazon S3 in the region. Requires AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in \
            the environment, and takes AWS_SESSION_TOKEN.
            """)
    var files: String?

    @Option(
        help: """
            The folder for backups that administrators start on the admin page or over HTTP. It is created if it does \
            not exist (default: they can't start backups).
            """)
    var backups: String?

    @Option(help: "A JSON file with settings.")
    var config: String?

    @Option(help: "A PEM file with a certificate chain. Reloaded when it changes.")
    var tlsCertificate: String?

    @Option(help: "A PEM file with the certificate's private key.")
    var tlsKey: String?

    @OptionGroup var storeKeyOptions: StoreKeyOptions

    @Option(
        help: """
            Public keys of external token issuers: a PEM file, a JWK Set, a directory of *.pem and *.json files, or \
            the https URL of a JWK Set or of an issuer's metadata (…/.well-known/openid-configuration). Reloaded when \
            they change.
            """)
    var tokenKeys: String?

    @Option(
        help: """
            The required value of iss in external tokens (default: any, or the issuer that the metadata name). \
            Required for the URL of a JWK Set.
            """)
    var tokenIssuer: String?

    @Option(help: "A required value in aud of external tokens (default: reject tokens with aud).")
    var tokenAudience: String?

    @Flag(inversion: .prefixedNo, help: "Whether external tokens may have the scope admin (default: no).")
    var tokenAdmin: Bool?

    @Option(
        help: """
            A JSON file with push credentials, {"push": {"services": {…}}} as for PUT /v1/settings. Takes precedence \
            over the settings, and is reloaded when it changes.
            """)
    var pushCredentials: String?

    @OptionGroup var rates: RateOptions

    @Option(
        help: """
            The free disk space in bytes below which the server refuses new messages and other new data. 0 for no \
            check (default: 256 MiB, or 2 % of a smaller volume).
            """)
    var freeSpaceFloor: Int64?

    @OptionGroup var limitOptions: LimitOptions

    @OptionGroup var nodeOptions: NodeOptions

    @Option(
        help: "A file with a token that allows GET /metrics (default: only administrators' tokens). At least 16 bytes.")
    var metricsToken: String?

    @Option(
        help: """
            The rate limit for messages of one user that mention everyone in one conversation, per hour. 0 for no \
            limit (default: 20).
            """)
    var everyoneRate: Double?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether to announce resumable uploads with status 104, which some proxies mishandle (default: yes).")
    var announceUploads: Bool?

    @Option(
        help: """
            A web origin, such as https://app.example.org, whose pages may use the server. Repeat the option for each \
            origin (default: only the server's own pages).
            """)
    var allowOrigin: [String] = []

    @Option(help: "The minimum log level: trace, debug, info, notice, warning or error (default: info).")
    var logLevel: String?

    @Flag(
        help: """
            Create a demo community if it does not exist, and print commands to try. If --host is a loopback address, \
            the chat page signs in two of its users without a token.
            """)
    var demo = false

    @Flag(help: "Print the address as a JSON object.")
    var json = false

    func run() async throws {
        // Files of the server are for its user only, whatever the service manager sets.
        umask(0o077)
        try await reporting {
            let settings = try await ProcessSettings(file: config)
            var options = ServerOptions(
                directory: URL(
                    filePath: try settings.string("data", data) ?? "./scrollback-data",
                    directoryHint: .isDirectory))
            options.host = try settings.string("host", host) ?? options.host
            options.port = try settings.int("port", port) ?? options.port
            guard (0...65535).contains(options.port) else {
                throw ChatError.invalidParameter("port", "must be in 0...65535")
            }
            options.adminAddress = try settings.string("admin.address", adminAddress).map {
                (text) throws(ChatError) in try ListenAddress(text, parameter: "admin-address")
            }
            options.certificate = try settings.string("tls.certificate", tlsCertificate)
            options.key = try settings.string("tls.key", tlsKey)
            options.tokenTrust = try tokenTrust(settings)
            options.tokenAuthorities = try settings.string("token.authorities")
            try rates.apply(to: &options, settings)
            let everyoneRate = try settings.double("everyone.rate", everyoneRate) ?? options.everyoneRate ?? 0
            guard everyoneRate >= 0 else { throw ChatError.invalidParameter("everyone-rate", "must be at least 0") }
            options.everyoneRate = everyoneRate == 0 ? nil : everyoneRate
            let floor = try settings.int("free.space.floor", freeSpaceFloor.map { Int($0) })
            options.freeSpaceFloor = floor.map { Int64($0) }
            guard options.freeSpaceFloor ?? 0 >= 0 else {
                throw ChatError.invalidParameter("free-space-floor", "must be at least 0")
            }

            try limitOptions.apply(to: &options, settings)
            try nodeOptions.apply(to: &options, settings)
            let metricsTokenFile = try settings.string("metrics.token", metricsToken)
            options.metricsToken = try metricsTokenFile.map(readMetricsToken)

            options.announcesUploads =
                try settings.bool("announce.uploads", announceUploads) ?? options.announcesUploads

            let origins = try settings.strings("allow.origin", allowOrigin.isEmpty ? nil : allowOrigin) ?? []
            options.allowedOrigins = try AllowedOrigins(origins)

            options.storeURL = try settings.string("store.url", store)
            options.allowsAsynchronousStandbys =
                try settings.bool("allow.asynchronous.standbys", allowAsynchronousStandbys) ?? false
            options.busURL = try settings.string("bus.url", bus)
            if let seconds = try settings.double("store.lockSeconds") {
                guard (0...3600).contains(seconds) else {
                    throw ChatError.invalidParameter("store.lockSeconds", "must be in 0...3600")
                }
                options.storeLockTimeout = .seconds(seconds)
            }
            options.filesURL = try settings.string("files.url", files)
            options.filesAuthorities = try settings.string("files.authorities")
            options.filesRemovalDelay = try settings.double("files.removal.seconds") ?? options.filesRemovalDelay
            guard options.filesRemovalDelay >= 0 else {
                throw ChatError.invalidParameter("files.removal.seconds", "must not be negative")
            }
            options.backups = try settings.string("backups", backups)
            let storeKeys = try settings.string("store.keys")
            let storeKeysCommand = try settings.string("store.keysCommand")
            let storeKeySetting = { (name: String) in name == "store.keys" ? storeKeys : storeKeysCommand }
            options.storeKeys = try storeKeyOptions.keys(setting: storeKeySetting)
            options.pushCredentials = try settings.string("push.credentials", pushCredentials)
            options.secretFiles = [
                storeKeyOptions.file(setting: storeKeySetting), options.key, options.pushCredentials, metricsTokenFile,
            ].compactMap(\.self)
            options.pushAuthorities = try settings.string("push.authorities")
            options.pushRetrySeconds = try settings.double("push.retry.seconds") ?? options.pushRetrySeconds
            guard options.pushRetrySeconds > 0 else {
                throw ChatError.invalidParameter("push.retry.seconds", "must be above 0")
            }

            let level = try settings.string("log.level", logLevel) ?? "info"
            guard let level = Logger.Level(rawValue: level) else {
                throw ChatError.invalidParameter("log-level", "must be trace, debug, info, notice, warning or error")
            }
            try settings.refuseUnknownKeys()
            LoggingSystem.bootstrap { label in
                var handler = StreamLogHandler.standardError(label: label)
                handler.logLevel = level
                return handler
            }
            options.makesDemo = demo
            let (isJSON, offersDemoTokens) = (json, options.offersDemoTokens)
            let hints = demo ? hints(options) : []
            let adminAddress = options.adminAddress
            try await Server(options, logger: Logger(label: "scrollback")).run { url, address in
                let isForAdministrators = address == adminAddress
                if isJSON {
                    Output.json { $0.field(isForAdministrators ? "admin" : "listening", url) }
                } else if isForAdministrators {
                    Output.line("administrators on \(url)")
                } else {
                    Output.line("listening on \(url)")
                    for hint in hints { Output.line(hint) }
                    if offersDemoTokens { Output.line("Open \(url) in a browser to see two users chat.") }
                }
            }
        }
    }

    /// Returns the settings for external tokens, or `nil` if no external keys are configured.
    private func tokenTrust(_ settings: ProcessSettings) throws(ChatError) -> TokenTrust? {
        let issuer = try settings.string("token.issuer", tokenIssuer)
        let audience = try settings.string("token.audience", tokenAudience)
        let mayGrantAdmin = try settings.bool("token.admin", tokenAdmin)
        guard let keys = try settings.string("token.keys", tokenKeys) else {
            for (name, isSet) in [
                ("token-issuer", issuer != nil), ("token-audience", audience != nil),
                ("token-admin", mayGrantAdmin == true),
            ] where isSet {
                throw .invalidParameter(name, "requires token-keys")
            }
            return nil
        }
        for (name, value) in [("token-keys", keys), ("token-issuer", issuer), ("token-audience", audience)]
        where value == "" {
            throw .invalidParameter(name, "must not be empty")
        }
        return try TokenTrust(keys: keys, issuer: issuer, audience: audience, mayGrantAdmin: mayGrantAdmin ?? false)
    }

    private func readMetricsToken(_ path: String) throws(ChatError) -> String {
        let text = try secret(inFile: path, parameter: "metrics-token")
        guard text.utf8.count >= 16 else {
            throw .invalidParameter(
                "metrics-token", "must name a file with a token of at least 16 bytes (\(path))", limit: 16)
        }
        return text
    }

    /// Returns example commands for another terminal.
    private func hints(_ options: ServerOptions) -> [String] {
        let program = CommandLine.arguments.first ?? "scrollback"
        let server = options.port == 8080 ? "" : " --server http://127.0.0.1:\(options.port)"
        let data =
            options.directory.relativePath == "./scrollback-data" ? "" : " --data \(options.directory.relativePath)"
        return [
            "", "Commands to try in another terminal:",
            "  \(program) chat group:albatross --as alice\(server)\(data)",
            "  \(program) history community:harbour/general --as bob --limit 10\(server)\(data)",
            "  \(program) recents --as alice\(server)\(data)", "",
        ]
    }
}
