import Foundation
import Scrollback
import ScrollbackEngine
import ScrollbackModel

/// A media transport that uploads files to the engine in the same process, and downloads them from it.
struct MemoryMediaTransport: MediaTransport {
    let server: MemoryServer
    let user: UserID

    /// Returns the caller of a token.
    ///
    /// - Throws: `unreachable` while the user is offline, or if there is no token.
    private func caller(_ token: String?) throws(ChatError) -> Caller {
        try server.checkReachable(user)
        guard let token else { throw ChatError(.unreachable, "A ChatWorld has no other servers.") }
        return Caller(user: try UserID(token), isAdmin: token == "admin")
    }

    func begin(
        _ upload: LocalUpload, in conversation: ConversationID, token: String
    ) async throws(ChatError) -> String? {
        let request = try UploadRequest(
            conversation: conversation, media: upload.media, type: upload.type, name: upload.name, length: upload.size)
        return switch try await server.engine.beginUpload(request, by: caller(token)) {
        case .file: nil
        case .upload(let row): row.id.description
        }
    }

    func progress(of resource: String, token: String) async throws(ChatError) -> UploadProgress {
        let transfer = try await transfer(resource, token)
        let row = await transfer.row
        await transfer.end()
        return UploadProgress(offset: row.offset, isComplete: row.state == .done)
    }

    func append(
        _ chunk: Data, to resource: String, at offset: Int64, isLast: Bool, token: String
    ) async throws(ChatError) {
        let transfer = try await transfer(resource, token)
        do throws(ChatError) {
            guard await transfer.row.offset == offset else {
                throw ChatError(.conflict, "The upload continues at offset \(await transfer.row.offset).")
            }
            try await transfer.append(Array(chunk))
            if isLast { _ = try await transfer.finish() } else { try await transfer.save() }
            await transfer.end()
        } catch {
            await transfer.end()
            throw error
        }
    }

    private func transfer(_ resource: String, _ token: String) async throws(ChatError) -> Transfer {
        guard let id = UploadID(resource) else {
            throw ChatError(.unknownUpload, "The upload doesn't exist.")
        }
        return try await server.engine.transfer(id, by: caller(token), interrupt: {})
    }

    func cancelUpload(_ resource: String, token: String) async throws(ChatError) {
        try await transfer(resource, token).cancel()
    }

    func setThumbnail(_ picture: Data, of media: MediaID, token: String) async throws(ChatError) {
        _ = try await server.engine.putThumbnail(Array(picture), of: media, by: caller(token))
    }

    func read(
        _ source: MediaChunk.Source, from offset: Int64, upTo count: Int, ifStill hash: String?, token: String?
    ) async throws(ChatError) -> MediaChunk {
        let caller = try caller(token)
        let id: MediaID
        switch source {
        case .media(let media), .thumbnail(let media): id = media
        case .remote: throw ChatError(.unreachable, "A ChatWorld has no other servers.")
        }
        let row: MediaRow
        do {
            row = try server.engine.file(id, by: caller)
        } catch {
            throw ChatError(wrapping: error)
        }
        var blob = row.blob
        if case .thumbnail = source {
            guard let thumbnail = row.thumbnail else { throw ChatError(.unknownMedia, "The file doesn't exist.") }
            blob = thumbnail.blob
        }
        let file = try await server.engine.media.open(blob)
        let start = hash == nil || hash == blob.description ? offset : 0
        let bytes = try await file.read(at: start, count: count)
        return MediaChunk(
            bytes: Data(bytes), offset: start, size: file.size, hash: blob.description,
            isLast: start + Int64(bytes.count) >= file.size)
    }

    func link(
        to media: MediaID, thumbnail: Bool, expiresIn seconds: Int?, token: String
    ) async throws(ChatError) -> URL {
        _ = try caller(token)
        throw ChatError(.unreachable, "A ChatWorld can't create links, because it has no HTTP server.")
    }
}
