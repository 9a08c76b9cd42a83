package import Foundation
import ScrollbackModel
package import StoreFiles

/// How a server runs.
package struct ServerOptions: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes any free port.
    package var port = 8080
    package var directory: URL
    /// PEM files of a certificate chain and its key: both or neither.
    package var certificate: String?
    package var key: String?
    /// Whose tokens are taken besides those that are made here.
    package var tokenTrust: TokenTrust?
    /// Messages a second and at once that one user may send; nothing for no limit.
    package var sendRate: Double? = 20
    package var sendBurst: Double = 40
    /// How often, in seconds, a device should be heard of.
    package var heartbeat = 30
    /// How many bytes may wait for a connection that does not read, before it is closed with 4008.
    package var outboundBytes = 1 << 20
    /// Whether a small community to look at is made where there is none.
    package var makesDemo = false
    /// Seal messages and files; without them nothing is sealed, and a sealed data directory is not served.
    package var storeKeys: StoreKeys?
    /// Threads that read the store.
    package var readers = 4
    /// Threads that read and write files.
    package var diskThreads = 4
    /// Whether clients are told with `104` that an upload can be gone on with: without it Apple's don't, with it some
    /// proxies take it for the answer.
    package var announcesUploads = true
    /// How often it is looked for messages that were kept long enough.
    package var tidyInterval = Duration.seconds(60)
    /// A JSON file with credentials of push services, which win over those of the settings.
    package var pushCredentials: String?
    /// A PEM file of certificate authorities that push services are trusted by, besides the system's.
    package var pushAuthorities: String?
    /// How long it is waited before a push is tried again, at first.
    package var pushRetrySeconds: Double = 1

    package init(directory: URL) {
        self.directory = directory
    }
}
