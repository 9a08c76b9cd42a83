import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel

/// Writes a request's body to an upload and creates the response.
struct UploadReceiver: Sendable {
    /// The number of bytes collected before a write.
    ///
    /// Smaller files are stored only if they arrive completely.
    static let partBytes = 256 << 10

    let engine: Engine
    let fields: UploadFields
    let transfer: Transfer
    /// Whether the body contains the rest of the upload.
    let isEnd: Bool
    /// The upload's URL, for the response to the request that created it.
    var location: String?

    func run(_ request: Request) async throws(ChatError) -> Response {
        do throws(ChatError) {
            try await receiveBody(request)
            guard isEnd else {
                await transfer.end()
                return incomplete(await transfer.row)
            }
            let media = try await transfer.finish()
            await transfer.end()
            return Self.done(media, await transfer.row, fields, location, engine)
        } catch {
            await endFailedTransfer(after: error)
            throw error
        }
    }

    /// Keeps the received data of a failed upload if resuming can succeed, and deletes it otherwise.
    private func endFailedTransfer(after error: ChatError) async {
        if transfer.isResumable, error.status >= 500 || error.code == .malformed || error.code == .timeout {
            await transfer.end()
        } else {
            await transfer.cancel()
        }
    }

    private func receiveBody(_ request: Request) async throws(ChatError) {
        let length = request.length
        var waiting: [UInt8] = []
        var received: Int64 = 0
        var cause: (any Error)?
        var parts = request.body.makeAsyncIterator()
        while cause == nil {
            do {
                guard let part = try await parts.next() else { break }
                received += Int64(part.readableBytes)
                waiting += part.readableBytesView
            } catch {
                cause = error
            }
            if waiting.count >= Self.partBytes {
                try await append(waiting, rest: length.map { $0 - received })
                waiting.removeAll(keepingCapacity: true)
            }
        }
        Exchange.current?.bodyWasRead()
        // Keep the received bytes of an interrupted body.
        try await append(waiting, rest: 0)
        // A body without a length ends when the connection closes, which is an interruption.
        let isWhole = length.map { $0 == received } ?? (Exchange.current?.channel.isActive ?? true)
        guard cause == nil, isWhole else {
            throw ChatError.bodyEndedEarly(cause)
        }
    }

    private func append(_ bytes: [UInt8], rest: Int64?) async throws(ChatError) {
        do throws(ChatError) {
            try await transfer.append(bytes)
        } catch {
            if rest.map({ $0 > Exchange.maximumDrainedBytes }) ?? true { Exchange.current?.closeAfterResponse() }
            throw error
        }
    }

    // MARK: Responses

    private func incomplete(_ row: UploadRow) -> Response {
        var headers = fields.state(of: row, in: engine)
        if let location { headers[.location] = location }
        return Response(status: .created, headers: headers)
    }

    /// The response to a completed upload.
    ///
    /// It is repeated if the client did not receive it.
    static func done(
        _ media: MediaRow, _ row: UploadRow, _ fields: UploadFields, _ location: String?, _ engine: Engine
    ) -> Response {
        var response = respond(.created) { media.writeMembers(to: &$0) }
        guard fields.version != nil else { return response }
        for field in fields.state(of: row, isDone: true, in: engine) { response.headers[field.name] = field.value }
        if let location { response.headers[.location] = location }
        return response
    }
}

extension MediaRow {
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("media", id)
        writer.field("name", name)
        writer.field("mediaType", mediaType)
        writer.field("size", size)
        writer.field("sha256", blob)
        writer.field("width", pixels?.width)
        writer.field("height", pixels?.height)
    }
}

extension Request {
    /// The length of the body in bytes, or `nil` if unknown.
    var length: Int64? {
        if let text = headers[.contentLength] { return Int64(text) }
        return headers[.transferEncoding] == nil ? 0 : nil
    }
}
