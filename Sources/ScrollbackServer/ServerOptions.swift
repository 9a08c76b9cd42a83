package import Foundation
import ScrollbackModel
package import SQLiteSupport

/// The configuration of a server.
package struct ServerOptions: Sendable {
    package var host = "127.0.0.1"
    /// The TCP port.
    ///
    /// 0 selects any free port.
    package var port = 8080
    package var directory: URL
    /// The PEM files of a certificate chain and its private key.
    ///
    /// Set both or neither.
    package var certificate: String?
    package var key: String?
    /// Settings for accepting tokens of an external issuer.
    package var tokenTrust: TokenTrust?
    /// The rate limit of each user in messages per second, or `nil` for no limit.
    ///
    /// `sendBurst` is the size of a burst.
    package var sendRate: Double? = 20
    package var sendBurst: Double = 40
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
    /// Whether to create sample data if it does not exist.
    package var makesDemo = false
    /// The storage encryption keys, or `nil` for no encryption.
    ///
    /// An encrypted data directory requires its keys.
    package var storeKeys: StoreKeys?
    /// The number of threads that read from the store.
    package var readers = 4
    /// The number of threads that read and write media files.
    package var diskThreads = 4
    /// Whether the server announces resumable uploads with the informational status 104.
    ///
    /// Apple's clients resume only after this response, but some proxies mistake it for the final response.
    package var announcesUploads = true
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

    package init(directory: URL) {
        self.directory = directory
    }
}
