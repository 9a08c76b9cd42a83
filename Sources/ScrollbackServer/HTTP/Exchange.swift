import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The connection under a request, for the few routes that say something before their answer, or don't want the rest of
/// what they are sent.
final class Exchange: Sendable {
    /// That of the request this task answers.
    @TaskLocal static var current: Exchange?

    /// How long a client whose body nobody wants has to read the answer: closed at once, it might never see it.
    private static let linger = TimeAmount.seconds(2)
    /// What is taken of an unwanted body, so that the connection can be gone on with.
    static let smallRest: Int64 = 1 << 20

    let channel: any Channel
    private let abandoned = Atomic<Bool>(false)
    private let taken = Atomic<Bool>(false)

    private init(_ channel: any Channel) {
        self.channel = channel
    }

    /// Wraps a responder so that its routes find their connection.
    static func around(_ responder: @escaping HTTPChannelHandler.Responder) -> HTTPChannelHandler.Responder {
        { request, writer, channel in
            let exchange = Exchange(channel)
            var box: ResponseWriter? = consume writer
            try await $current.withValue(exchange) {
                guard let writer = box.take() else { return }
                try await responder(request, writer, channel)
            }
            if exchange.isAbandoned {
                channel.eventLoop.scheduleTask(in: linger) { channel.close(promise: nil) }
            }
        }
    }

    /// Sends an informational answer, ahead of the one that counts (RFC 9110 section 15.2).
    ///
    /// Where it can't be sent the body won't come either.
    func inform(_ status: HTTPResponse.Status, _ headers: HTTPFields = [:]) async {
        let head = HTTPResponse(status: status, headerFields: headers)
        try? await channel.writeAndFlush(HTTPResponsePart.head(head)).get()
    }

    /// Closes the connection after the answer: what is still to come of the body is not worth waiting for.
    ///
    /// It does nothing where all of it came.
    func abandonBody() {
        if !taken.load(ordering: .relaxed) { abandoned.store(true, ordering: .relaxed) }
    }

    /// Closes the connection after the answer to a request, where more of its body is to come than is worth taking.
    static func abandonBody(of request: Request) {
        if request.length.map({ $0 > smallRest }) ?? true { current?.abandonBody() }
    }

    /// Says that nothing of the body is still to come.
    func tookBody() { taken.store(true, ordering: .relaxed) }

    var isAbandoned: Bool { abandoned.load(ordering: .relaxed) }

    /// Ends the connection after a time, unless that is cancelled.
    func closes(after time: TimeAmount) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: time) { [channel] in channel.close(promise: nil) }
    }

    /// Ends the connection now: whoever waits for its body hears of it.
    func interrupt() { channel.close(promise: nil) }
}
