import Foundation
import Logging
import NIOSSL
import ScrollbackModel
import Synchronization

/// A certificate chain and its key, from PEM files, taken over anew when the files change.
final class Certificates: Sendable {
    private let chain: String
    private let key: String
    private let state: Mutex<State>

    private struct State {
        var context: NIOSSLContext
        var modifiedAt: [Date?]
    }

    init(chain: String, key: String) throws {
        self.chain = chain
        self.key = key
        let modifiedAt = Self.modificationDates(chain, key)
        state = Mutex(State(context: try Self.load(chain: chain, key: key), modifiedAt: modifiedAt))
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    private static func load(chain: String, key: String) throws -> NIOSSLContext {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(chain).map { NIOSSLCertificateSource.certificate($0) }
            let privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: certificates, privateKey: .privateKey(privateKey))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw ChatError(
                .invalidParameter, "the certificate \(chain) or its key \(key) can't be used",
                parameter: "tls-certificate",
                cause: error)
        }
    }

    private static func modificationDates(_ files: String...) -> [Date?] {
        files.map { try? FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date }
    }

    /// Takes over new files.
    ///
    /// Connections that are open keep what they began with; a pair that can't be used is logged and the old one stays.
    func reloadIfChanged(logger: Logger) {
        let modifiedAt = Self.modificationDates(chain, key)
        guard modifiedAt != state.withLock({ $0.modifiedAt }) else { return }
        do {
            let context = try Self.load(chain: chain, key: key)
            state.withLock { $0.context = context }
            logger.info("certificate reloaded", metadata: ["file": "\(chain)"])
        } catch {
            logger.error("the new certificate can't be used: the old one stays", metadata: ["file": "\(chain)"])
        }
        state.withLock { $0.modifiedAt = modifiedAt }
    }
}
