import Foundation
import Logging
import NIOSSL
import ScrollbackModel
import Synchronization

/// A TLS certificate chain and its private key from PEM files, reloaded when the files change.
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

    /// Checks that a file has certificates.
    ///
    /// Without them, all later connections of the server that trust the file would fail.
    static func check(authorities path: String, parameter: String) throws(ChatError) {
        let certificates = (try? NIOSSLCertificate.fromPEMFile(path)) ?? []
        guard certificates.isEmpty else { return }
        throw .invalidParameter(parameter, "must name a PEM file with certificates that this user can read (\(path))")
    }

    var context: NIOSSLContext { state.withLock { $0.context } }

    /// The cipher suites of TLS 1.2: ephemeral keys and authenticated encryption, as every suite of TLS 1.3 has.
    private static let cipherSuites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private static func load(chain: String, key: String) throws(ChatError) -> NIOSSLContext {
        func failure(_ parameter: String, _ text: String, _ cause: (any Error)? = nil) -> ChatError {
            ChatError(.invalidParameter, text, parameter: parameter, cause: cause)
        }
        let isPEM = "must be a PEM file that this user can read"
        let certificates = (try? NIOSSLCertificate.fromPEMFile(chain)) ?? []
        guard !certificates.isEmpty else {
            throw failure("tls-certificate", "The certificate chain \(chain) \(isPEM).")
        }
        let privateKey: NIOSSLPrivateKey
        do {
            privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
        } catch {
            throw failure("tls-key", "The private key \(key) \(isPEM).", error)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = cipherSuites
        configuration.applicationProtocols = ["http/1.1"]
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw failure(
                "tls-key", "The private key \(key) must belong to the first certificate of \(chain).", error)
        }
    }

    private static func modificationDates(_ files: String...) -> [Date?] {
        files.map { try? FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date }
    }

    /// Reloads the certificate and the key if one of the files changed.
    ///
    /// Open connections keep the certificate they started with. If the new pair can't be loaded, the server logs an
    /// error and keeps using the previous pair.
    func reloadIfChanged(logger: Logger) {
        let modifiedAt = Self.modificationDates(chain, key)
        guard modifiedAt != state.withLock({ $0.modifiedAt }) else { return }
        do {
            let context = try Self.load(chain: chain, key: key)
            state.withLock { $0.context = context }
            logger.info("Certificate reloaded.", metadata: ["file": "\(chain)"])
        } catch {
            logger.error(
                "Can't load the new certificate. The server keeps using the previous one.",
                metadata: ["file": "\(chain)", "reason": "\(error.message)"])
        }
        state.withLock { $0.modifiedAt = modifiedAt }
    }
}
