import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

// What clients decode: frames and answers of a server, HTTP responses and pushes.

extension FuzzTarget {
    static let pageMetadata = FuzzTarget("page-metadata", "web pages of link previews", maximumBytes: 16_384) { bytes in
        guard let page = PageMetadata(bytes) else { return }
        let link = "https://example.org/"
        guard let title = page.title.flatMap({ LinkPreview.cleaned($0, longest: LinkPreview.longestTitle) }) else {
            return
        }
        let preview = LinkPreview(
            link: link, title: title,
            description: page.description.flatMap {
                LinkPreview.cleaned($0, longest: LinkPreview.longestDescription)
            },
            site: page.site.flatMap { LinkPreview.cleaned($0, longest: LinkPreview.longestSite) })
        // The server must accept what a page's texts become.
        let content = accepted { () throws(ChatError) in try MessageContent.text(link, preview: preview) }
        try check(content?.linkPreview == preview, "The preview \(preview) is not preserved.")
    }

    static let serverFrame = FuzzTarget("server-frame", "frames of servers", maximumBytes: 16_384) { bytes in
        guard case .event(let event) = accepted({ () throws(ChatError) in try ServerFrame.decode(bytes) }) else {
            return
        }
        let encoded = event.encoded()
        guard case .event(let again) = accepted({ () throws(ChatError) in try ServerFrame.decode(encoded) }) else {
            throw FuzzFailure(description: "An event is refused after it was encoded: \(encoded.text)")
        }
        try checkEqual(encoded, again.encoded(), "An event")
    }

    /// The name of an operation in the first line, then the answer.
    static let answer = FuzzTarget("answer", "answers to operations of the SDK", maximumBytes: 16_384) { bytes in
        let (line, rest) = bytes.firstLine
        for operation in OperationRegistry.all where operation.name == line.text {
            try (operation as? any ClientOperation.Type).map { try checkAnswer(to: $0, rest) }
        }
    }

    private static func checkAnswer<Operation: ClientOperation>(to _: Operation.Type, _ bytes: [UInt8]) throws {
        func read(_ bytes: [UInt8]) -> Operation.Answer? {
            accepted { () throws(ChatError) in
                var reader = try JSONReader(bytes)
                return try Operation.Answer(from: &reader)
            }
        }
        func write(_ answer: Operation.Answer) -> [UInt8] {
            var writer = JSONWriter()
            writer.object { answer.writeMembers(to: &$0) }
            return writer.bytes
        }
        guard let answer = read(bytes) else { return }
        let encoded = write(answer)
        guard let again = read(encoded) else {
            throw FuzzFailure(description: "An answer is refused after it was encoded: \(encoded.text)")
        }
        try checkEqual(encoded, write(again), "An answer")
    }

    /// What a client receives about one conversation, one in each line: events, heads, pages and answers to `sync`.
    static let clientLog = FuzzTarget(
        "client-log", "events and pages that a client applies to its log", maximumBytes: 8192
    ) { bytes in
        var log: LogState?
        var rows: [Seq: Message] = [:]
        func apply(_ body: (inout LogState) -> LogEdit) throws {
            guard var state = log else { return }
            body(&state).apply(to: &rows)
            log = state
            let violations = state.violations(rows: rows.keys.sorted())
            try check(violations.isEmpty, "The log is inconsistent: \(violations)")
            for place in [Seq.min, 0, 1, state.firstSeq, state.head, .max] {
                _ = state.gapToFill(nearest: place)?.query
                _ = state.lowerEnd(of: 50, through: place)
                _ = state.upperEnd(of: 50, from: place)
            }
        }
        for line in bytes.lines(maxSplits: 16) {
            if let head = accepted({ () throws(ChatError) in
                try whole(line) { (value) throws(ChatError) in try ConversationHead(from: &value) }
            }) {
                if log == nil { log = LogState(adopting: head.state) }
                try apply { $0.apply(head: head.state) }
            } else if let page = accepted({ () throws(ChatError) in
                try whole(line) { (value) throws(ChatError) in try LogPage(from: &value) }
            }) {
                try apply { $0.apply(page: page) }
            } else if let answer = accepted({ () throws(ChatError) in
                try whole(line) { (value) throws(ChatError) in try LogSyncResult(from: &value) }
            }) {
                guard case .success(let sync) = answer.result, let position = log?.position(in: answer.conversation)
                else { continue }
                try apply { $0.apply(sync: sync, asked: position) }
            } else if case .event(let event) = accepted({ () throws(ChatError) in try ServerFrame.decode(line) }) {
                switch event {
                case .message(let message): try apply { $0.apply(message: message) }
                case .changed(_, let epoch, let change): try apply { $0.apply(change: change, in: epoch) }
                case .hidden(_, let epoch, let places): try apply { $0.apply(hidden: places, in: epoch) }
                default: break
                }
            }
        }
    }

    /// The form of ``HTTPAnswer``, with the name of a request before the status.
    static let mediaAnswer = FuzzTarget(asynchronous: "media-answer", "HTTP responses to the SDK") { bytes in
        guard let answer = HTTPAnswer(bytes), let server = URL(string: "https://chat.example/base") else { return }
        let response = HTTPExchange.Answer(status: answer.status, headers: answer.headers, body: Data(answer.body))
        let media = HTTPMediaTransport(server: server, http: AnsweringServer(response: response))
        let id = MediaID(UUID())
        do throws(ChatError) {
            switch answer.name {
            case "progress": _ = try await media.progress(of: "/v1/uploads/x", token: "t")
            case "read":
                let chunk = try await media.read(.media(id), from: 100, upTo: 50, ifStill: "x", token: "t")
                _ = chunk.offset + Int64(chunk.bytes.count)
            case "remote": _ = try await media.read(.remote(server), from: 100, upTo: 50, ifStill: nil, token: nil)
            case "link": _ = try await media.link(to: id, thumbnail: true, expiresIn: 60, token: "t")
            default: try await media.setThumbnail(Data(), of: id, token: "t")
            }
        } catch {
            if let wait = error.retryAfter {
                try check(wait.isFinite && wait >= 0, "The request is repeated after \(wait) seconds.")
            }
        }
    }

    static let pushPayload = FuzzTarget("push-payload", "payloads of pushes") { bytes in
        guard let message = accepted({ () throws(ChatError) in try PushMessage(json: bytes.text) }) ?? nil else {
            return
        }
        var writer = JSONWriter()
        writer.object { message.writeMembers(to: &$0) }
        let again = accepted { () throws(ChatError) in try PushMessage(writer.text) }
        try check(
            again?.target == message.target && again?.link == message.link && again?.kind == message.kind,
            "The push \(writer.text) is not preserved.")
    }
}

private struct AnsweringServer: HTTPTransport {
    let response: HTTPExchange.Answer

    func exchange(_ exchange: HTTPExchange) async throws(ChatError) -> HTTPExchange.Answer { response }
}
