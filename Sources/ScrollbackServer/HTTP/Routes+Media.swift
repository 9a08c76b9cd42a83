import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel

extension Route {
    /// Files going out, their thumbnails, and links to them.
    static let media: [Route] = [
        Route(.get, "/v1/media/{id}", .readMedia) { scope, request, context throws(ChatError) in
            let row = try await file(scope, request, context, isThumbnail: false)
            return try await MediaDownload(of: row).response(to: request, scope.engine)
        },
        Route(.get, "/v1/media/{id}/thumbnail", .readMedia) { scope, request, context throws(ChatError) in
            let row = try await file(scope, request, context, isThumbnail: true)
            guard let answer = MediaDownload(ofThumbnailOf: row) else {
                throw ChatError(.unknownMedia, "the file has no thumbnail", parameter: "media")
            }
            return try await answer.response(to: request, scope.engine)
        },
        Route(.put, "/v1/media/{id}/thumbnail", .upload) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try id(scope, context)
            let limit = scope.engine.settings.thumbnailBytes
            let bytes: [UInt8]
            do {
                bytes = Array(buffer: try await request.body.collect(upTo: limit))
            } catch is NIOTooManyBytesError {
                Exchange.current?.closeAfterResponse()
                throw ChatError(.mediaTooLarge, "a thumbnail may have at most \(limit) bytes", limit: limit)
            } catch {
                throw ChatError(.malformed, "the body did not arrive whole", cause: error)
            }
            let thumbnail = try await scope.engine.putThumbnail(bytes, of: id, by: caller)
            return respond { writer in
                writer.field("width", thumbnail.pixels.width)
                writer.field("height", thumbnail.pixels.height)
                writer.field("size", thumbnail.size)
            }
        },
        Route(.post, "/v1/media/{id}/link", .readMedia) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try id(scope, context)
            var lifetime: Int64 = 3600
            var isThumbnail = false
            if request.length != 0 {
                try await scope.object(request) { (name, value) throws(ChatError) in
                    switch name {
                    case "expiresIn": if try !value.null() { lifetime = try value.integer() }
                    case "thumbnail": if try !value.null() { isThumbnail = try value.bool() }
                    default: try value.skip()
                    }
                }
            }
            guard (1...longestLink).contains(lifetime) else {
                throw .invalidParameter("expiresIn", "must be in 1...\(longestLink) seconds", limit: Int(longestLink))
            }
            let row = try await scope.read { try $0.file(id, by: caller) }
            if isThumbnail, row.thumbnail == nil {
                throw ChatError(.unknownMedia, "the file has no thumbnail", parameter: "thumbnail")
            }
            let link = MediaLink(media: id, isThumbnail: isThumbnail)
            let expiresAt = scope.engine.clock().addingTimeInterval(TimeInterval(lifetime))
            let token: String
            do {
                token = try await scope.tokens.token(for: link, by: caller, expiresAt: expiresAt)
            } catch {
                throw ChatError(wrapping: error)
            }
            return respond { writer in
                writer.field("url", "/v1/media/\(id)\(isThumbnail ? "/thumbnail" : "")?token=\(token)")
                writer.field("expiresAt", expiresAt)
            }
        },
    ]

    /// A week, in seconds.
    private static let longestLink: Int64 = 7 * 24 * 60 * 60

    private static func id(_ scope: RequestScope, _ context: BasicRequestContext) throws(ChatError) -> MediaID {
        try MediaID(try scope.segment("id", context), parameter: "id")
    }

    /// The file, if who asks may read it: by their own token, or by a link somebody made who still may.
    private static func file(
        _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext, isThumbnail: Bool
    ) async throws(ChatError) -> MediaRow {
        let given = try scope.query(request)["token"]
        let media = try id(scope, context)
        let verified: VerifiedToken
        if let given {
            guard given.count == 1 else { throw .invalidParameter("token", "must be given once") }
            verified = try await scope.tokens.verify(
                given[0], for: MediaLink(media: media, isThumbnail: isThumbnail))
        } else {
            verified = try await scope.tokens.verify(try scope.bearer(request))
        }
        let caller = try await scope.authorize(verified)
        return try await scope.read { try $0.file(media, by: caller) }
    }
}

extension RequestScope {
    /// Who goes on with an upload, which may be by the token they began it with, though it expired meanwhile.
    func uploader(_ request: Request) async throws(ChatError) -> Caller {
        try await authorize(try await tokens.verify(try bearer(request), allowsExpired: true))
    }
}
