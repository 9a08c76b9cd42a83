import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// An HTTP/2 connection to a push service with concurrent requests.
///
/// NIO's multiplexer enforces the service's limit of concurrent streams. Until one request has succeeded, requests are
/// sent one at a time.
final class HTTP2Connection: Sendable {
    private typealias Multiplexer = NIOHTTP2Handler.AsyncStreamMultiplexer<Void>
    private typealias Stream = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// The maximum number of bytes read from a response.
    private static let maximumResponseBytes = 64 << 10

    private let channel: any Channel
    private let multiplexer: Multiplexer
    private let state = Mutex(State())

    private struct State {
        var load = 0
        var hasSucceeded = false
        var isTrialInProgress = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    private init(_ channel: any Channel, _ multiplexer: Multiplexer) {
        self.channel = channel
        self.multiplexer = multiplexer
    }

    static func open(_ host: String, _ port: Int, tls: NIOSSLContext) async throws -> HTTP2Connection {
        let (channel, multiplexer) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(.seconds(10))
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let isName = (try? SocketAddress(ipAddress: host, port: port)) == nil
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: isName ? host : nil)
                    try channel.pipeline.syncOperations.addHandler(handler)
                    let multiplexer = try channel.pipeline.syncOperations.configureAsyncHTTP2Pipeline(
                        mode: .client, streamInitializer: { $0.eventLoop.makeSucceededVoidFuture() })
                    return (channel, multiplexer)
                }
            }
        let connection = HTTP2Connection(channel, multiplexer)
        channel.closeFuture.whenComplete { [weak connection] _ in connection?.retire() }
        return connection
    }

    /// The number of requests in progress, or `nil` if the connection is closed.
    var load: Int? { state.withLock { $0.isClosed ? nil : $0.load } }

    /// Stops accepting requests.
    ///
    /// Requests in progress can complete.
    func retire() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for one in waiting { one.resume() }
    }

    func close() async {
        retire()
        try? await channel.close()
    }

    // MARK: Requests

    func post(_ request: PushRequest, to url: URL) async throws -> PushResponse {
        state.withLock { $0.load += 1 }
        defer { state.withLock { $0.load -= 1 } }
        await waitForTrialRequest()
        do {
            let response = try await exchange(request, url)
            endTrialRequest(hasSucceeded: response.status == 200)
            return response
        } catch {
            endTrialRequest(hasSucceeded: false)
            // After a GOAWAY frame, the connection opens no more streams. A request that is cancelled reached its
            // deadline: perhaps the packets of the connection are lost, which TCP notices only after minutes.
            if error is NIOHTTP2Errors.CreatedStreamAfterGoaway || error is ChannelError || Task.isCancelled {
                retire()
            }
            throw error
        }
    }

    private func exchange(_ request: PushRequest, _ url: URL) async throws -> PushResponse {
        let stream: Stream = try await multiplexer.openStream { channel in
            channel.eventLoop.makeCompletedFuture {
                let codec = HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https)
                try channel.pipeline.syncOperations.addHandler(codec)
                return try Stream(wrappingChannelSynchronously: channel)
            }
        }
        var head = HTTPRequestHead(version: .http2, method: .POST, uri: url.path(percentEncoded: true))
        head.headers.add(name: "host", value: url.port.map { "\(url.host() ?? ""):\($0)" } ?? url.host() ?? "")
        for (name, value) in request.headers { head.headers.add(name: name, value: value) }
        head.headers.add(name: "content-length", value: String(request.body.count))
        return try await stream.executeThenClose { [head] inbound, outbound in
            try await outbound.write(.head(head))
            try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: request.body))))
            try await outbound.write(.end(nil))
            var response: PushResponse?
            for try await part in inbound {
                switch part {
                case .head(let head):
                    let fields = head.headers.map { ($0.name.lowercased(), $0.value) }
                    response = PushResponse(
                        status: Int(head.status.code), headers: Dictionary(fields, uniquingKeysWith: { $1 }))
                case .body(let bytes):
                    guard let known = response, known.body.count + bytes.readableBytes <= Self.maximumResponseBytes
                    else {
                        throw ChannelError.eof
                    }
                    response?.body += Array(buffer: bytes)
                case .end:
                    if let response { return response }
                }
            }
            throw ChannelError.eof
        }
    }

    // MARK: First request

    /// Waits until a request has succeeded, or until no other request is the trial request.
    private func waitForTrialRequest() async {
        await withCheckedContinuation { continuation in
            let mayProceed = state.withLock { state in
                if state.hasSucceeded || state.isClosed || !state.isTrialInProgress {
                    state.isTrialInProgress = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if mayProceed { continuation.resume() }
        }
    }

    private func endTrialRequest(hasSucceeded: Bool) {
        let next = state.withLock { state in
            if state.hasSucceeded { return [CheckedContinuation<Void, Never>]() }
            state.hasSucceeded = hasSucceeded
            guard !hasSucceeded else {
                defer { state.waiting = [] }
                return state.waiting
            }
            state.isTrialInProgress = !state.waiting.isEmpty
            return state.waiting.isEmpty ? [] : [state.waiting.removeFirst()]
        }
        for one in next { one.resume() }
    }
}
