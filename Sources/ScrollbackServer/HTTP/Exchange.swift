import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The connection of a request, for routes that send informational responses or reject a body while it arrives.
final class Exchange: Sendable {
    /// The exchange of the current task's request.
    @TaskLocal static var current: Exchange?

    /// How long the connection stays open after a rejected body, so that the client can read the response.
    private static let closeDelay = TimeAmount.seconds(2)
    /// The maximum size of a rejected body that is read to the end, so that the connection can be reused.
    static let maximumDrainedBytes: Int64 = 1 << 20

    let channel: any Channel
    private let closesAfterResponse = Atomic<Bool>(false)
    private let isBodyRead = Atomic<Bool>(false)

    private init(_ channel: any Channel) {
        self.channel = channel
    }

    /// Wraps a responder so that its routes can use `current`.
    static func wrapping(_ responder: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            let exchange = Exchange(channel)
            var box: ResponseWriter? = consume writer
            try await $current.withValue(exchange) {
                guard let writer = box.take() else { return }
                try await responder(request, writer, channel)
            }
            if exchange.mustClose {
                channel.eventLoop.scheduleTask(in: closeDelay) { channel.close(promise: nil) }
            }
        }
    }

    /// Sends an informational response before the final one (RFC 9110 section 15.2).
    ///
    /// Errors are ignored, because reading the body then fails as well.
    func sendInformational(_ status: HTTPResponse.Status, _ headers: HTTPFields = [:]) async {
        let head = HTTPResponse(status: status, headerFields: headers)
        try? await channel.writeAndFlush(HTTPResponsePart.head(head)).get()
    }

    /// Sends `100 Continue` if the client waits for it (RFC 9110 section 10.1.1).
    static func continueIfExpected(_ request: Request) async {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return }
        await current?.sendInformational(.continue)
    }

    /// Closes the connection after the response, unless the whole body has been read.
    func closeAfterResponse() {
        if !isBodyRead.load(ordering: .relaxed) { closesAfterResponse.store(true, ordering: .relaxed) }
    }

    /// Closes the connection after the response if the rest of the body is large or of unknown length.
    static func closeAfterResponse(of request: Request) {
        if request.length.map({ $0 > maximumDrainedBytes }) ?? true { current?.closeAfterResponse() }
    }

    /// Records that the whole body has been read.
    func bodyWasRead() { isBodyRead.store(true, ordering: .relaxed) }

    var mustClose: Bool { closesAfterResponse.load(ordering: .relaxed) }

    /// Closes the connection now.
    ///
    /// Pending reads of the body fail.
    func interrupt() { channel.close(promise: nil) }
}
