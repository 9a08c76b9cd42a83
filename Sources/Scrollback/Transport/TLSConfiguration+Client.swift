package import Foundation
package import NIOSSL

extension TLSConfiguration {
    /// How the SDK and the commands speak to a server: by TLS 1.2 or newer, whatever else the server takes.
    ///
    /// - Parameter certificate: a PEM file to trust instead of the system's certificates.
    package static func client(trusting certificate: URL? = nil) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let certificate { configuration.trustRoots = .file(certificate.path) }
        return configuration
    }
}
