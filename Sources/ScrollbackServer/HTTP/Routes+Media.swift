import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel

extension Route {
    /// Downloads of files and of their thumbnails.
    ///
    /// Threads for files do what takes long, so the rest can be done on an event loop.
    static let downloads: [Route] = [
        Route(.get, "/v1/media/{id}", .readMedia) { scope, request, context throws(ChatError) in
            try await download(scope, request, context, isThumbnail: false)
        },
        Route(.get, "/v1/media/{id}/thumbnail", .readMedia) { scope, request, context throws(ChatError) in
            try await download(scope, request, context, isThumbnail: true)
        },
    ]

    /// Uploads of thumbnails, and links to files.
    static let media: [Route] = [
        Route(.put, "/v1/media/{id}/thumbnail", .upload) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try id(scope, context)
            let limit = scope.engine.settings.thumbnailBytes
            let bytes: [UInt8]
            do throws(ChatError) {
                bytes = try await scope.body(request, from: WorkOwner(caller), upTo: limit)
            } catch {
                guard error.code == .tooLarge else { throw error }
                Exchange.current?.closeAfterResponse()
                throw ChatError(.mediaTooLarge, "A thumbnail can have at most \(limit) bytes.", limit: limit)
            }
            try scope.checkNames(of: try scope.query(request))
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
            if request.length == 0 {
                try scope.refuseQuery(of: request)
            } else {
                let known = ["expiresIn", "thumbnail"]
                try await scope.object(request, from: caller, known: known) { (name, value) throws(ChatError) in
                    if try value.null() { return }
                    switch name {
                    case "expiresIn": lifetime = try value.integer()
                    default: isThumbnail = try value.bool()
                    }
                }
            }
            guard (1...longestLink).contains(lifetime) else {
                throw .invalidParameter("expiresIn", "must be in 1...\(longestLink) seconds", limit: Int(longestLink))
            }
            let row = try await scope.read(for: WorkOwner(caller)) { try $0.file(id, by: caller) }
            if isThumbnail, row.thumbnail == nil {
                throw ChatError(.unknownMedia, "The file has no thumbnail.", parameter: "thumbnail")
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

    /// The maximum lifetime of a link in seconds: one week.
    private static let longestLink: Int64 = 7 * 24 * 60 * 60

    private static func id(_ scope: RequestScope, _ context: BasicRequestContext) throws(ChatError) -> MediaID {
        try MediaID(try scope.segment("id", context.parameters), parameter: "id")
    }

    /// Answers a download: all reads for a small file are done in one go.
    ///
    /// The caller is the user of the request's token. For a link, the caller is the link's creator.
    private static func download(
        _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext, isThumbnail: Bool
    ) async throws(ChatError) -> Response {
        let query = try scope.query(request)
        let given = query["token"]
        let media = try id(scope, context)
        let verified: VerifiedToken
        let owner: WorkOwner
        if let given {
            guard given.count == 1 else { throw .invalidParameter("token", "must be given once") }
            verified = try await scope.tokens.verify(
                given[0], for: MediaLink(media: media, isThumbnail: isThumbnail))
            // The holders of a link share its rate limit, so that they can't use up that of the link's creator.
            owner = .link(media)
        } else {
            verified = try await scope.tokens.verify(try scope.bearer(request))
            owner = WorkOwner(verified.caller)
        }
        let answer = try await scope.read(for: owner, in: .file) { engine in
            try scope.authorize(verified, owner, engine)
            try scope.checkNames(of: query, known: ["token"])
            let row = try engine.file(media, by: verified.caller)
            guard let download = isThumbnail ? MediaDownload(ofThumbnailOf: row) : MediaDownload(of: row) else {
                throw ChatError(.unknownMedia, "The file has no thumbnail.", parameter: "media")
            }
            var answer = download.answer(to: request)
            try answer.readSmallBody(engine)
            return answer
        }
        return try await answer.response(scope.engine, for: owner)
    }
}

extension RequestScope {
    /// Authenticates the user who continues an upload.
    ///
    /// An expired token is accepted, because a token can expire during a long upload.
    func uploader(_ request: Request) async throws(ChatError) -> Caller {
        try await authorize(try await tokens.verify(try bearer(request), allowsExpired: true))
    }
}
