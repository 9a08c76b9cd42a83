package import Foundation
package import NIOSSL

extension TLSConfiguration {
    /// The TLS configuration of clients, which requires at least TLS 1.2.
    package static func client(trusting certificate: URL? = nil) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let certificate { configuration.trustRoots = .file(certificate.path) }
        return configuration
    }
}
