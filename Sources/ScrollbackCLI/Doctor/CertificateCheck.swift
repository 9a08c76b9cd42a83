import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import ScrollbackModel

/// How long the certificate of an address is valid for, whoever signed it.
struct CertificateCheck {
    let address: URL

    private static let check = "certificate"
    private static let soon: TimeInterval = 14 * 86_400

    /// - Returns: nothing where no TLS is spoken.
    func run(now: Date = Date()) async -> [Finding] {
        guard address.scheme == "https", let host = address.host() else { return [] }
        guard let end = try? await end(of: host) else {
            return [.skipped(Self.check, "\(address.absoluteString) shows none")]
        }
        let left = end.timeIntervalSince(now)
        let days = Int(abs(left) / 86_400)
        if left < 0 {
            return [
                .failed(
                    Self.check, "it ended \(days) days ago, on \(end.iso8601)",
                    fix: "renew it, and put it where --tls-certificate says: the server takes it over by itself")
            ]
        }
        if left < Self.soon {
            return [
                .warning(
                    Self.check, "it ends in \(days) days, on \(end.iso8601)",
                    fix: "renew it, and see why that did not happen by itself")
            ]
        }
        return [.ok(Self.check, "it is valid for \(days) days more")]
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
                        // Whether it can be trusted is what asking the server by HTTP shows; here it is only looked at.
                        if let leaf = chain.first {
                            end.succeed(Date(timeIntervalSince1970: TimeInterval(leaf.notValidAfter)))
                        }
                        verdict.succeed(NIOSSLVerificationResult.failed)
                    }
                    try channel.pipeline.syncOperations.addHandler(tls)
                    channel.closeFuture.whenComplete { _ in end.fail(ChannelError.eof) }
                    let patience = channel.eventLoop.scheduleTask(in: .seconds(10)) { channel.close(promise: nil) }
                    end.futureResult.whenComplete { _ in
                        patience.cancel()
                        channel.close(promise: nil)
                    }
                    return end.futureResult
                }
            }
        return try await channel.get()
    }
}
