import Foundation
import NIOSSL

extension TLSConfiguration {
    /// How the SDK speaks to a server: by TLS 1.2 or newer, whatever else the server takes.
    ///
    /// - Parameter certificate: a PEM file to trust instead of the system's certificates.
    static func client(trusting certificate: URL?) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let certificate { configuration.trustRoots = .file(certificate.path) }
        return configuration
    }
}
