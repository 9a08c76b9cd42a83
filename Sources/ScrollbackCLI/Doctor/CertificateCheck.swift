import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import ScrollbackModel

/// Checks when a server's certificate expires.
///
/// Does not check who signed it.
struct CertificateCheck {
    let address: URL

    private static let check = "certificate"
    private static let expiryWarning: TimeInterval = 14 * 86_400

    /// Runs the check.
    ///
    /// - Returns: The finding, or an empty array if the address does not use TLS.
    func run(now: Date = Date()) async -> [Finding] {
        guard address.scheme == "https", let host = address.host() else { return [] }
        guard let end = try? await end(of: host) else {
            return [.skipped(Self.check, "Can't read the certificate of \(address.absoluteString).")]
        }
        let left = end.timeIntervalSince(now)
        let days = Int(abs(left) / 86_400)
        if left < 0 {
            return [
                .failed(
                    Self.check, "The certificate expired \(days) days ago, on \(end.iso8601).",
                    fix: "Renew the file of --tls-certificate. The server reloads it automatically.")
            ]
        }
        if left < Self.expiryWarning {
            return [
                .warning(
                    Self.check, "The certificate expires in \(days) days, on \(end.iso8601).",
                    fix: "Renew the certificate, and check why the automatic renewal failed.")
            ]
        }
        return [.ok(Self.check, "The certificate is valid for another \(days) days.")]
    }

    private func end(of host: String) async throws -> Date {
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(10))
            .connect(host: host, port: address.port ?? 443) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let end = channel.eventLoop.makePromise(of: Date.self)
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host) {
                        chain, verdict in
                        // The HTTP request checks whether the certificate is trusted. This connection only reads it.
                        if let leaf = chain.first {
                            end.succeed(Date(timeIntervalSince1970: TimeInterval(leaf.notValidAfter)))
                        }
                        verdict.succeed(NIOSSLVerificationResult.failed)
                    }
                    try channel.pipeline.syncOperations.addHandler(tls)
                    channel.closeFuture.whenComplete { _ in end.fail(ChannelError.eof) }
                    let timeout = channel.eventLoop.scheduleTask(in: .seconds(10)) { channel.close(promise: nil) }
                    end.futureResult.whenComplete { _ in
                        timeout.cancel()
                        channel.close(promise: nil)
                    }
                    return end.futureResult
                }
            }
        return try await channel.get()
    }
}
