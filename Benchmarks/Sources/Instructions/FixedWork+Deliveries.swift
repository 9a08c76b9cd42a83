import Foundation
import NIOCore
import NIOEmbedded
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

/// Work of deliveries and of the SDK.
extension FixedWork {
    /// Delivers messages to 100 WebSockets, whose bytes are counted in place of a socket.
    static func fanOuts(_ count: Int, lanes: Int) throws -> Work {
        let engine = try Engine(
            store: MemoryStore(generation: 1), execution: .inline, clock: clock, batchTime: .seconds(3_600))
        let users = (0..<100).map { user($0) }
        engine.execute(
            PutConversation(
                conversation: .group("fan"), settings: ConversationSettings(members: Array(users.dropFirst()))),
            by: Caller(user: users[0]), completion: check)
        let loops = (0..<lanes).map { _ in EmbeddedEventLoop() }
        let detached = loops.map { DetachedLane(eventLoop: $0) }
        let written = EventCounter()
        let channels = try users.enumerated().map { number, user in
            let channel = EmbeddedChannel(handler: FrameCounter(written), loop: loops[number % lanes])
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            let session = try detached[number % lanes].open(channel, SessionServices(engine: engine))
            session.receive(HelloFrame(token: user.text, device: "phone").encoded())
            return channel
        }
        for loop in loops { loop.run() }
        let messages = makeMessages(1...Int64(count), in: .group("fan"))
        return { _ in
            let before = written.count
            for message in messages {
                engine.hub.publish(
                    [.message(message, notifiesCommunity: false, origin: nil)],
                    checkpoint: engine.checkpoints.checkpoint(of: message.seq))
                for loop in loops { loop.run() }
            }
            precondition(written.count == before + count * channels.count)
        }
    }

    static func clientPages(_ directory: URL, _ count: Int) async throws -> Work {
        let messages = 1_000
        let (client, chat) = try await ClientPage.open(directory, messages: messages)
        return { _ in
            var random = SplitMix64(seed: 3)
            for _ in 0..<count { try await ClientPage.readPage(of: chat, messages, &random) }
            withExtendedLifetime(client) {}
        }
    }
}

/// Counts the frames that are written to a channel, and drops them.
private final class FrameCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private let written: EventCounter

    init(_ written: EventCounter) {
        self.written = written
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        written.add()
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) {}
}
