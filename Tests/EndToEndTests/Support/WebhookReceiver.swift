import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A webhook endpoint that records the requests and responds as a test defines.
final class WebhookReceiver: Sendable {
    struct Post: Sendable {
        var headers: [String: String]
        var body: [UInt8]

        var json: Members { Members(body) }

        /// Returns whether the signature was made with `secret`.
        func isSigned(by secret: String) -> Bool {
            let parts = headers["scrollback-signature"]?.split(separator: ",").map(String.init) ?? []
            guard parts.count == 2, parts[0].hasPrefix("t="), parts[1].hasPrefix("v1=") else { return false }
            let code = HMAC<SHA256>.authenticationCode(
                for: Data("\(parts[0].dropFirst(2)).".utf8) + Data(body),
                using: SymmetricKey(data: Data(secret.utf8)))
            return parts[1].dropFirst(3) == code.map { String(format: "%02x", $0) }.joined()
        }
    }

    enum Behavior: Sendable {
        /// Responds.
        ///
        /// - Parameter after: The delay in seconds.
        case answers(String, status: Int = 200, headers: [String: String] = [:], after: Double = 0)
        /// Reads the request and never responds.
        case hangs
        /// Starts a response and never ends it.
        case drips
        /// Reads the request and closes the connection.
        case cuts
    }

    private struct State {
        var posts: [Post] = []
        var behavior: @Sendable (Post) -> Behavior
        var channel: (any Channel)?
    }

    private let state: Mutex<State>

    convenience init(_ behavior: Behavior = .answers("")) {
        self.init { _ in behavior }
    }

    /// Creates a receiver.
    ///
    /// - Parameter behavior: Returns the behavior for each request.
    init(behavior: @escaping @Sendable (Post) -> Behavior) {
        state = Mutex(State(behavior: behavior))
    }

    deinit { state.withLock { $0.channel }?.close(promise: nil) }

    /// Starts the receiver.
    ///
    /// - Parameter port: The port, or 0 for any free port.
    func start(port: Int = 0) async throws {
        let take: @Sendable (Post) -> Behavior = { [weak self] in self?.take($0) ?? .hangs }
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(take))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        state.withLock { $0.channel = channel }
    }

    func stop() async throws {
        try await state.withLock { $0.channel }?.close().get()
    }

    func set(_ behavior: Behavior) { state.withLock { $0.behavior = { _ in behavior } } }
    var posts: [Post] { state.withLock { $0.posts } }
    var port: Int { state.withLock { $0.channel }?.localAddress?.port ?? 0 }
    var url: String { "http://127.0.0.1:\(port)/hook" }

    /// The delivery ID and the message text of each received event, in the order of arrival.
    var deliveries: [(delivery: String, text: String)] {
        posts.flatMap { post in
            post.json.objects("events").map { event in
                let data = event["data"] as? [String: Any]
                let message = data?["message"] as? [String: Any]
                let content = message?["content"] as? [String: Any]
                return (event["delivery"] as? String ?? "", content?["text"] as? String ?? "")
            }
        }
    }

    private func take(_ post: Post) -> Behavior {
        let behavior = state.withLock { state in
            state.posts.append(post)
            return state.behavior
        }
        return behavior(post)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let take: @Sendable (Post) -> Behavior
        private var post = Post(headers: [:], body: [])

        init(_ take: @escaping @Sendable (Post) -> Behavior) {
            self.take = take
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                let fields = head.headers.map { ($0.name.lowercased(), $0.value) }
                post = Post(headers: Dictionary(fields, uniquingKeysWith: { $1 }), body: [])
            case .body(let part): post.body += Array(buffer: part)
            case .end:
                switch take(post) {
                case .hangs: break
                case .drips:
                    let head = HTTPResponseHead(
                        version: .http1_1, status: .ok, headers: ["Content-Length": "1000"])
                    context.write(wrapOutboundOut(.head(head)), promise: nil)
                    context.writeAndFlush(
                        wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: #"{"action":"#)))), promise: nil)
                case .cuts: context.close(promise: nil)
                case .answers(let text, let status, let fields, let seconds):
                    var headers = HTTPHeaders(fields.map { ($0.key, $0.value) })
                    headers.add(name: "Content-Length", value: String(text.utf8.count))
                    let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
                    guard seconds > 0 else { return answer(head, text, context) }
                    context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(seconds * 1000))) {
                        self.answer(head, text, context)
                    }
                }
            }
        }

        private func answer(_ head: HTTPResponseHead, _ text: String, _ context: ChannelHandlerContext) {
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
