import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The operator's own program: takes what is posted, and answers as a test says, or not at all.
final class WebhookReceiver: Sendable {
    struct Post: Sendable {
        var headers: [String: String]
        var body: [UInt8]

        var json: Members { Members(body) }

        /// Whether the signature is the secret's.
        func isSigned(by secret: String) -> Bool {
            let parts = headers["scrollback-signature"]?.split(separator: ",").map(String.init) ?? []
            guard parts.count == 2, parts[0].hasPrefix("t="), parts[1].hasPrefix("v1=") else { return false }
            let code = HMAC<SHA256>.authenticationCode(
                for: Data("\(parts[0].dropFirst(2)).".utf8) + Data(body),
                using: SymmetricKey(data: Data(secret.utf8)))
            return parts[1].dropFirst(3) == code.map { String(format: "%02x", $0) }.joined()
        }
    }

    enum Mood: Sendable {
        /// - Parameter after: seconds.
        case answers(String, status: Int = 200, headers: [String: String] = [:], after: Double = 0)
        /// Takes what is posted and says nothing.
        case hangs
        /// Begins to answer and never ends.
        case drips
        /// Takes what is posted and cuts the connection.
        case cuts
    }

    private struct State {
        var posts: [Post] = []
        var mood: @Sendable (Post) -> Mood
        var channel: (any Channel)?
    }

    private let state: Mutex<State>

    convenience init(_ mood: Mood = .answers("")) {
        self.init { _ in mood }
    }

    /// - Parameter mood: what becomes of each post.
    init(mood: @escaping @Sendable (Post) -> Mood) {
        state = Mutex(State(mood: mood))
    }

    deinit { state.withLock { $0.channel }?.close(promise: nil) }

    /// - Parameter port: 0 for any that is free.
    func start(port: Int = 0) async throws {
        let take: @Sendable (Post) -> Mood = { [weak self] in self?.take($0) ?? .hangs }
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

    func set(_ mood: Mood) { state.withLock { $0.mood = { _ in mood } } }
    var posts: [Post] { state.withLock { $0.posts } }
    var port: Int { state.withLock { $0.channel }?.localAddress?.port ?? 0 }
    var url: String { "http://127.0.0.1:\(port)/hook" }

    /// What it was told of, in the order it came: the delivery's id and the message's text.
    var told: [(delivery: String, text: String)] {
        posts.flatMap { post in
            post.json.objects("events").map { event in
                let data = event["data"] as? [String: Any]
                let message = data?["message"] as? [String: Any]
                let content = message?["content"] as? [String: Any]
                return (event["delivery"] as? String ?? "", content?["text"] as? String ?? "")
            }
        }
    }

    private func take(_ post: Post) -> Mood {
        let mood = state.withLock { state in
            state.posts.append(post)
            return state.mood
        }
        return mood(post)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let take: @Sendable (Post) -> Mood
        private var post = Post(headers: [:], body: [])

        init(_ take: @escaping @Sendable (Post) -> Mood) {
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
