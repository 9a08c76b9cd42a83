package import Foundation
package import NIOSSL
package import ScrollbackModel

extension TLSConfiguration {
    /// The TLS configuration of clients, which requires at least TLS 1.2.
    package static func client(trusting certificate: URL? = nil) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let certificate { configuration.trustRoots = .file(certificate.path) }
        return configuration
    }

    /// Checks that a file has certificates.
    ///
    /// Without them, each connection that trusts the file would fail.
    ///
    /// - Throws: `invalid-parameter`.
    package static func check(trusting certificate: URL) throws(ChatError) {
        let certificates = (try? NIOSSLCertificate.fromPEMFile(certificate.path)) ?? []
        guard certificates.isEmpty else { return }
        throw .invalidParameter(
            "trustedCertificate",
            "must name a PEM file with certificates that this user can read (\(certificate.path))")
    }
}
