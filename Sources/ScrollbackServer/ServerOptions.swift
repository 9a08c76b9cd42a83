package import CoreMetrics
package import Foundation
package import ScrollbackEngine
package import ScrollbackModel
package import SQLiteSupport
package import ScrollbackWire

/// The configuration of a server.
package struct ServerOptions: Sendable {
    package var host = "127.0.0.1"
    /// The TCP port.
    ///
    /// 0 selects any free port.
    package var port = 8080
    /// The address that accepts administrators, or `nil` if the address of all users does.
    package var adminAddress: ListenAddress?
    package var directory: URL
    /// The PEM files of a certificate chain and its private key.
    ///
    /// Set both or neither.
    package var certificate: String?
    package var key: String?
    /// Settings for accepting tokens of an external issuer.
    package var tokenTrust: TokenTrust?
    /// The path of a PEM file with certificate authorities for the URL of the issuer's keys, in addition to the
    /// system's.
    package var tokenAuthorities: String?
    /// The rate limits of each user; a class without a rate has no limit.
    package var rates = RateLimiter.standard
    /// How long a search may run.
    package var searchLimit = Duration.seconds(2)
    /// How many messages that mention everyone a user may send to a conversation per hour, or `nil` for no limit.
    ///
    /// `everyoneBurst` is the size of a burst.
    package var everyoneRate: Double? = 20
    package var everyoneBurst: Double = 5
    /// The interval in seconds in which a client must send a frame.
    package var heartbeat = 30
    /// The maximum number of bytes queued for a client that does not read.
    ///
    /// If exceeded, the connection is closed with 4008.
    package var outboundBytes = 1 << 20
    /// The maximum number of bytes queued for all clients together.
    ///
    /// If exceeded, the connections with the most queued bytes are closed.
    package var outboundMemory = 256 << 20
    /// The maximum number of connections, or `nil` to derive it from the number of descriptors of the process.
    package var connections: Int?
    /// The maximum number of connections from one address, or `nil` for no limit.
    package var connectionsPerAddress: Int? = 1000
    /// The maximum number of WebSockets of one user, or `nil` for no limit.
    package var connectionsPerUser: Int? = 50
    /// The minimum rate of HTTP bodies in both directions, in bytes per second, or `nil` for no minimum.
    package var transferRate: Int? = 1024
    /// How long a client may keep an HTTP body waiting, in seconds.
    package var transferGrace: Double = 30
    /// The maximum rate at which one user's uploads are received, in bytes per second, or `nil` for no maximum.
    package var uploadRate: Int? = UploadPace.standardRate
    /// A token that allows reading the metrics, besides those of administrators.
    package var metricsToken: String?
    /// Whether to create sample data if it does not exist.
    package var makesDemo = false
    /// The URL of a PostgreSQL database for the messages, or `nil` for an SQLite store in the data directory.
    package var storeURL: String?
    /// The URLs of NATS servers, which pass messages between several servers (nodes) of one PostgreSQL database.
    ///
    /// `nil` if this server does not share the database.
    package var busURL: String?
    /// The name of this node in lists and commands.
    package var nodeName = ""
    /// How long a stopping node serves all requests after `/readyz` reports it as not ready, so that the load balancer
    /// sends no more clients.
    ///
    /// A server without other nodes does not wait.
    package var drainDelay = Duration.seconds(3)
    /// The time in which the clients of a stopping node move to other nodes.
    package var drainWindow = Duration.seconds(5)
    /// Whether to use a PostgreSQL database with a standby that could take over without all confirmed messages.
    package var allowsAsynchronousStandbys = false
    /// How long to wait for the PostgreSQL database while another server uses it.
    package var storeLockTimeout = Duration.seconds(30)
    /// The URL of a bucket in an S3-compatible store for files, or `nil` for the data directory.
    package var filesURL: String?
    /// A PEM file with certificate authorities for the store of files, in addition to the system's.
    package var filesAuthorities: String?
    package static let standardRemovalDelay: TimeInterval = 12 * 60 * 60
    /// How many seconds the bytes of removed files stay in a bucket that several nodes use.
    package var filesRemovalDelay = standardRemovalDelay
    /// The path of the folder into which administrators start backups over HTTP, or `nil` if they can't.
    package var backups: String?
    /// The storage encryption keys, or `nil` for no encryption.
    ///
    /// An encrypted data directory requires its keys.
    package var storeKeys: StoreKeys?
    /// The paths of files with secrets outside of the data directory.
    ///
    /// If other users may open one of them, the server logs a warning when it starts.
    package var secretFiles: [String] = []
    /// The number of threads for reads of the store, except searches and exports.
    package var readers = 4
    /// The number of threads for searches and exports.
    package var searchReaders = 2
    /// The number of threads that check tokens and open connections.
    package var admissionReaders = 2
    /// The number of threads that read and write media files.
    package var diskThreads = 4
    /// Whether the server announces resumable uploads with the informational status 104.
    ///
    /// Apple's clients resume only after this response, but some proxies mistake it for the final response.
    package var announcesUploads = true
    /// The web origins whose pages may use the server, in addition to its own.
    package var allowedOrigins = AllowedOrigins()
    /// The free space of the volume in bytes below which the server refuses new messages and other new data.
    ///
    /// 0 turns the check off, and `nil` selects 256 MiB, or a fiftieth of a smaller volume.
    package var freeSpaceFloor: Int64?
    /// The interval between runs that remove expired data.
    package var cleanupInterval = Duration.seconds(60)
    /// The path of a JSON file with push credentials.
    ///
    /// They take precedence over those in the settings.
    package var pushCredentials: String?
    /// The path of a PEM file with certificate authorities for push services, in addition to the system's.
    package var pushAuthorities: String?
    /// The delay before the first retry of a push, in seconds.
    package var pushRetrySeconds: Double = 1
    /// The backend that receives the server's metrics in addition to `/metrics`, or `nil` for none.
    package var metrics: (any MetricsFactory)?

    package init(directory: URL) {
        self.directory = directory
    }

    /// The address of all users.
    var address: ListenAddress { ListenAddress(host: host, port: port, parameter: "port") }

    /// Checks that the address for administrators is not the one of all users.
    ///
    /// - Throws: `invalid-parameter`, which names the options of both.
    package func checkAddresses() throws(ChatError) {
        guard let adminAddress, adminAddress.overlaps(address) else { return }
        throw .invalidParameter(
            "admin-address",
            "(\(adminAddress)) must differ from the address of all users, --host and --port (\(address)). Choose "
                + "another port")
    }

    /// Whether the chat page signs in the users of a demonstration without a token.
    package var offersDemoTokens: Bool { makesDemo && ListenAddress.loopbackHosts.contains(host) }

    /// Changes the rate limit of a cost class.
    ///
    /// - Parameters:
    ///   - name: The prefix of the settings in errors.
    ///   - perSecond: The rate; 0 for no limit, `nil` for the default.
    ///   - burst: How many may come at once; `nil` for the default, or twice the rate if that is more.
    /// - Throws: `invalid-parameter` with the name of the setting.
    package mutating func setRate(
        of cost: CostClass, named name: String, perSecond: Double?, burst: Double?
    ) throws(ChatError) {
        guard let standard = RateLimiter.standard[cost] else { return }
        let rate = perSecond ?? standard.perSecond
        guard rate >= 0, rate.isFinite else { throw .invalidParameter("\(name)-rate", "must be at least 0") }
        let burst = burst ?? max(standard.burst, rate * 2)
        // A request can name 100 users, and takes a token for each.
        let least = cost == .lookup ? FetchUsers.maximum : 1
        guard burst >= Double(least), burst.isFinite else {
            throw .invalidParameter("\(name)-burst", "must be at least \(least)", limit: least)
        }
        rates[cost] = rate == 0 ? nil : RateLimiter.Rate(perSecond: rate, burst: burst)
    }
}
