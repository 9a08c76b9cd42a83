import CNATS
import Foundation
import ScrollbackEngine
package import ScrollbackModel
import Synchronization

/// Passes messages between nodes over NATS.
///
/// The bus connects in the background, and again whenever the connection is lost.
package final class NATSBus: NodeBus {
    /// Calls the receiver of messages; the library's threads refer to it.
    private final class Receiver: Sendable {
        let receive: @Sendable (UnsafeRawBufferPointer) -> Void

        init(_ receive: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
            self.receive = receive
        }
    }

    /// The library's objects.
    ///
    /// `@unchecked Sendable`: the library synchronizes access to them.
    private struct Handles: @unchecked Sendable {
        var connection: OpaquePointer
        var subscription: OpaquePointer
    }

    private let handles: Handles
    private let subject: String
    private let receiver: Unmanaged<Receiver>
    private let isClosed = Atomic(false)

    /// The limit of the server, at most 1 MiB.
    package var maximumBytes: Int {
        let limit = Int(natsConnection_GetMaxPayload(handles.connection))
        return limit > 0 ? min(limit, 1 << 20) : 1 << 20
    }

    /// Checks the URLs of servers without connecting.
    ///
    /// - Throws: `invalid-parameter` if one is wrong.
    package static func check(_ urls: String) throws(ChatError) { natsOptions_Destroy(try options(urls)) }

    /// Connects to NATS servers.
    ///
    /// - Parameters:
    ///   - urls: The URLs of servers of one cluster, separated by commas: `nats://[USER[:PASSWORD]@]HOST[:PORT]`, or
    ///     `tls://…` for an encrypted connection.
    ///   - subject: The subject of the messages, which all nodes use.
    ///   - receive: Called with each message of another node, one at a time.
    /// - Throws: `invalid-parameter` if a URL is wrong, or a server refuses the connection.
    package init(
        _ urls: String, subject: String, receive: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws(ChatError) {
        self.subject = subject
        let options = try Self.options(urls)
        defer { natsOptions_Destroy(options) }
        var connection: OpaquePointer?
        var status = natsConnection_Connect(&connection, options)
        if status == NATS_NO_SERVER || status == NATS_TIMEOUT {
            // Nodes work without the bus, so an outage must not prevent a start. The library tries again.
            // Without a closure, it would try again before it returns.
            natsOptions_SetRetryOnFailedConnect(options, true, { _, _ in }, nil)
            status = natsConnection_Connect(&connection, options)
        }
        guard status == NATS_OK || status == NATS_NOT_YET_CONNECTED, let connection else {
            throw .invalidParameter("bus", "names a NATS server that refuses the connection: \(Self.text(status))")
        }
        receiver = .passRetained(Receiver(receive))
        var subscription: OpaquePointer?
        let subscribed = natsConnection_Subscribe(
            &subscription, connection, subject,
            { _, _, message, closure in
                defer { natsMsg_Destroy(message) }
                guard let closure, let data = natsMsg_GetData(message) else { return }
                let bytes = UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message)))
                Unmanaged<Receiver>.fromOpaque(closure).takeUnretainedValue().receive(bytes)
            }, receiver.toOpaque())
        guard subscribed == NATS_OK, let subscription else {
            natsConnection_Destroy(connection)
            receiver.release()
            throw .invalidParameter(
                "bus", "names a NATS server that refuses the subscription of \(subject): \(Self.text(subscribed))")
        }
        handles = Handles(connection: connection, subscription: subscription)
    }

    private static func options(_ urls: String) throws(ChatError) -> OpaquePointer {
        var options: OpaquePointer?
        guard natsOptions_Create(&options) == NATS_OK, let options else {
            throw ChatError(.internalError, "The NATS library could not allocate memory.")
        }
        let list = urls.split(separator: ",").map(String.init)
        func check(_ status: natsStatus) throws(ChatError) {
            guard status != NATS_OK else { return }
            natsOptions_Destroy(options)
            throw .invalidParameter(
                "bus", "must be nats://[USER[:PASSWORD]@]HOST[:PORT], or several separated by commas")
        }
        let isValid = !list.isEmpty && list.allSatisfy { $0.hasPrefix("nats://") || $0.hasPrefix("tls://") }
        try check(isValid ? NATS_OK : NATS_INVALID_ARG)
        let names = list.map { strdup($0) }
        defer { for name in names { free(name) } }
        var pointers = names.map { UnsafePointer($0) }
        try check(natsOptions_SetServers(options, &pointers, CInt(list.count)))
        if list.contains(where: { $0.hasPrefix("tls://") }) { try check(natsOptions_SetSecure(options, true)) }
        try check(natsOptions_SetName(options, "scrollback"))
        // Otherwise the library gathers messages for a millisecond.
        try check(natsOptions_SetSendAsap(options, true))
        try check(natsOptions_SetNoEcho(options, true))
        try check(natsOptions_SetTimeout(options, 5_000))
        try check(natsOptions_SetMaxReconnect(options, -1))
        try check(natsOptions_SetReconnectWait(options, 250))
        try check(natsOptions_SetPingInterval(options, 5_000))
        try check(natsOptions_SetMaxPingsOut(options, 2))
        // A server that does not read must not block the node.
        try check(natsOptions_SetWriteDeadline(options, 1_000))
        // A message that can't be sent is dropped. The other nodes read lost commits from the store.
        try check(natsOptions_SetReconnectBufSize(options, 0))
        return options
    }

    private static func text(_ status: natsStatus) -> String { String(cString: natsStatus_GetText(status)) }

    package var isConnected: Bool {
        natsConnection_Status(handles.connection) == NATS_CONN_STATUS_CONNECTED
    }

    package func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            _ = natsConnection_Publish(handles.connection, subject, buffer.baseAddress, CInt(buffer.count))
        }
    }

    /// Closes the connection.
    package func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        natsSubscription_Unsubscribe(handles.subscription)
        natsConnection_Close(handles.connection)
    }

    deinit {
        close()
        natsSubscription_Destroy(handles.subscription)
        natsConnection_Destroy(handles.connection)
        // The library may still run the closure of a message, so the receiver stays allocated.
    }
}
