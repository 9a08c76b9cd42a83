package import NIOSSL

extension TLSConfiguration {
    /// The TLS configuration of outgoing connections to push services and webhooks.
    ///
    /// Requires TLS 1.2 or newer.
    ///
    /// - Parameter authorities: A PEM file of certificate authorities to trust in addition to the system's.
    package static func outgoing(trustingAlso authorities: String? = nil) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let authorities { configuration.additionalTrustRoots = [.file(authorities)] }
        return configuration
    }
}
