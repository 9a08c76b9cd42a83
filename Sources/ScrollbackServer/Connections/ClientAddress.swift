import Foundation
import NIOCore

/// The address by which the connections of a client are counted.
///
/// This is an IPv4 address, or the first 64 bits of an IPv6 address. One customer of a provider usually has all
/// addresses with the same 64 bits.
struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Creates the address of a peer, or `nil` for a peer without an IP address.
    init?(_ address: SocketAddress?) {
        switch address {
        case .v4(let address): bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            // An IPv4 client of a socket that accepts both versions has the address ::ffff:1.2.3.4.
            let isMapped = all.prefix(10).allSatisfy { $0 == 0 } && all[10] == 0xFF && all[11] == 0xFF
            bytes = Array(isMapped ? all[12...] : all[..<8])
        default: return nil
        }
    }

    var description: String {
        guard bytes.count > 4 else { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: bytes.count, by: 2).map { index in
            String(Int(bytes[index]) << 8 | Int(bytes[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }
}
