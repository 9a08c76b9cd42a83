package import NIOSSL

extension TLSConfiguration {
    /// How the server speaks to others, push services and the operator's program: by TLS 1.2 or newer, whatever else they take.
    ///
    /// - Parameter authorities: a PEM file to trust beside the system's certificates.
    package static func outgoing(trustingAlso authorities: String? = nil) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let authorities { configuration.additionalTrustRoots = [.file(authorities)] }
        return configuration
    }
}
