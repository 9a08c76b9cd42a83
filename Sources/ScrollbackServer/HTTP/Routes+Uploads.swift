import Foundation
package import HTTPTypes
import Hummingbird
import RawStructuredFieldValues
package import ScrollbackEngine
package import ScrollbackModel

extension Route {
    /// Uploads of files, plain or resumable.
    static let uploads: [Route] = [
        Route(.post, "/v1/media", .upload) { scope, request, _ throws(ChatError) in
            let fields = UploadFields(request.headers)
            do throws(ChatError) {
                return try await createUpload(scope, request, fields)
            } catch {
                // The body was not read, so the connection may have to close.
                Exchange.closeAfterResponse(of: request)
                throw error
            }
        },
        Route(.options, "/v1/media", .upload) { scope, request, _ throws(ChatError) in
            _ = try await scope.caller(request)
            // A client asks about the address to which it will send the file.
            try scope.checkNames(of: try scope.query(request), known: uploadParameters)
            return Response(
                status: .noContent,
                headers: [.allow: "OPTIONS, POST", .uploadLimit: UploadFields.limit(scope.engine.settings.mediaLimits)])
        },
        Route(.head, "/v1/uploads/{upload}", .upload) { scope, request, context throws(ChatError) in
            let fields = UploadFields(request.headers)
            let caller = try await scope.uploader(request)
            try checkHasNoUploadFields(request)
            try scope.checkNames(of: try scope.query(request))
            let transfer = try await scope.engine.transfer(try upload(context), by: caller, interrupt: {})
            await transfer.end()
            let row = await transfer.row
            var headers = fields.state(of: row, isDone: row.state == .done, in: scope.engine)
            if fields.version == 6, let length = row.length { headers[.uploadLength] = String(length) }
            headers[.cacheControl] = "no-store"
            return Response(status: .noContent, headers: headers)
        },
        Route(.patch, "/v1/uploads/{upload}", .upload) { scope, request, context throws(ChatError) in
            do throws(ChatError) {
                return try await appendToUpload(scope, request, context)
            } catch {
                Exchange.closeAfterResponse(of: request)
                throw error
            }
        },
        Route(.delete, "/v1/uploads/{upload}", .upload) { scope, request, context throws(ChatError) in
            let caller = try await scope.uploader(request)
            try checkHasNoUploadFields(request)
            try scope.checkNames(of: try scope.query(request))
            let transfer = try await scope.engine.transfer(try upload(context), by: caller, interrupt: {})
            await transfer.cancel()
            return Response(status: .noContent)
        },
    ]

    /// The parameters in the query of a request that creates an upload.
    private static let uploadParameters = ["conversation", "type", "name", "id"]

    private static func upload(_ context: BasicRequestContext) throws(ChatError) -> UploadID {
        guard let id = context.parameters.get("upload").flatMap({ UploadID($0) }) else {
            throw ChatError(.unknownUpload, "The upload does not exist or has expired. Begin a new upload.")
        }
        return id
    }

    /// Checks that a request without data has none of the headers that describe data.
    ///
    /// - Throws: `malformed` with the name of the header.
    private static func checkHasNoUploadFields(_ request: Request) throws(ChatError) {
        for name: HTTPField.Name in [.uploadOffset, .uploadComplete, .uploadIncomplete, .uploadLength]
        where request.headers[name] != nil {
            throw ChatError(
                .malformed, "A \(request.method) request must not have the header \(name). Remove the header.",
                parameter: name.rawName)
        }
    }

    private static func createUpload(
        _ scope: RequestScope, _ request: Request, _ fields: UploadFields
    ) async throws(ChatError) -> Response {
        let engine = scope.engine
        let caller = try await scope.caller(request)
        let query = try scope.query(request, plusIsSpace: false)
        var uploadRequest = try UploadRequest(query, request.headers)
        try scope.checkNames(of: query, known: uploadParameters)
        if fields.isResumable, fields.offset != nil {
            throw ChatError(
                .malformed, "A new upload has no offset. Remove the header Upload-Offset.", parameter: "Upload-Offset")
        }
        let isEnd = !fields.isResumable || fields.isEnd == true
        let declaredLength = fields.version == 6 ? fields.length : nil
        let length = isEnd ? request.length : nil
        if let declaredLength, let length, declaredLength != length {
            throw ChatError(
                .malformed,
                "Upload-Length is \(declaredLength), but the body has \(length) bytes. Send the size of the file.",
                parameter: "Upload-Length")
        }
        uploadRequest.length = declaredLength ?? length
        if !fields.isResumable, let length, length <= UploadReceiver.partBytes {
            return try await storeSmallFile(scope, request, length, uploadRequest, by: caller)
        }
        let exchange = Exchange.current
        let isResumable = fields.isResumable
        let beginning = try await engine.beginTransfer(uploadRequest, by: caller, isResumable: isResumable) {
            // An upload that can't be resumed may finish.
            if isResumable { exchange?.interrupt() }
        }
        let transfer: Transfer
        switch beginning {
        case .upload(let begun): transfer = begun
        case .file(let file):
            Exchange.closeAfterResponse(of: request)
            return respond(.ok) { file.writeMembers(to: &$0) }
        }
        let location = isResumable ? await UploadFields.location(of: transfer.row.id) : nil
        if let location, scope.announcesUploads {
            // Send it before the body is read, because the client may wait for it.
            var headers: HTTPFields = [.location: location]
            headers[.uploadVersion] = fields.version.map { String($0) }
            if fields.version == 6 {
                headers[.uploadLimit] = UploadFields.limit(engine.settings.mediaLimits, uploadRequest.type)
            }
            await exchange?.sendInformational(.uploadResumptionSupported, headers)
        }
        await Exchange.continueIfExpected(request)
        return try await UploadReceiver(
            engine: engine, fields: fields, transfer: transfer, isEnd: isEnd, location: location
        ).run(request)
    }

    /// Stores a file that is small enough to buffer in memory.
    private static func storeSmallFile(
        _ scope: RequestScope, _ request: Request, _ length: Int64, _ uploadRequest: UploadRequest, by caller: Caller
    ) async throws(ChatError) -> Response {
        let bytes = try await scope.body(request, from: WorkOwner(caller), upTo: Int(length))
        guard bytes.count == length else { throw ChatError.bodyEndedEarly(nil) }
        let (media, isNew) = try await scope.engine.upload(bytes, uploadRequest, by: caller)
        return respond(isNew ? .created : .ok) { media.writeMembers(to: &$0) }
    }

    private static func appendToUpload(
        _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext
    ) async throws(ChatError) -> Response {
        let engine = scope.engine
        let fields = UploadFields(request.headers)
        let caller = try await scope.uploader(request)
        let id = try upload(context)
        try scope.checkNames(of: try scope.query(request))
        guard let offset = fields.offset else {
            throw ChatError(
                .malformed, "Upload-Offset is missing or invalid. Set it to the upload's current offset in bytes.",
                parameter: "Upload-Offset")
        }
        if fields.version == 6, request.headers[.contentType] != "application/partial-upload" {
            throw ChatError(
                .unsupportedMediaType, "The body must have the type application/partial-upload.",
                parameter: "Content-Type")
        }
        if fields.version.map({ $0 > 3 }) ?? false, fields.isEnd == nil {
            throw ChatError(
                .malformed,
                "Upload-Complete is missing or invalid. Set it to ?1 if this request ends the upload, otherwise to ?0.",
                parameter: "Upload-Complete")
        }
        let exchange = Exchange.current
        let transfer = try await engine.transfer(id, by: caller) { exchange?.interrupt() }
        let row = await transfer.row
        let isEnd = fields.isEnd ?? true
        do throws(ChatError) {
            guard offset == row.offset else { throw conflict(row, offset) }
            if row.state == .done {
                guard isEnd, request.length == 0 else {
                    throw ChatError(
                        .malformed,
                        "The upload is complete and accepts no more data. Send an empty request to get its file.",
                        parameter: "Upload-Offset")
                }
                await transfer.end()
                let media = try await scope.read(for: WorkOwner(caller)) { try $0.file(of: row) }
                return UploadReceiver.done(media, row, fields, nil, engine)
            }
            if isEnd, let length = request.length {
                let (end, isTooLarge) = offset.addingReportingOverflow(length)
                try await transfer.setLength(isTooLarge ? .max : end)
            }
            if fields.version == 6, let length = fields.length { try await transfer.setLength(length) }
        } catch {
            await transfer.end()
            guard error.code == .conflict else { throw error }
            Exchange.closeAfterResponse(of: request)
            var response = error.response
            for field in fields.state(of: row, isDone: row.state == .done, in: engine) {
                response.headers[field.name] = field.value
            }
            return response
        }
        await Exchange.continueIfExpected(request)
        return try await UploadReceiver(
            engine: engine, fields: fields, transfer: transfer, isEnd: isEnd
        ).run(request)
    }

    private static func conflict(_ row: UploadRow, _ offset: Int64) -> ChatError {
        ChatError(
            .conflict,
            "The upload has \(row.offset) bytes, but the request starts at \(offset). Continue at \(row.offset).",
            parameter: "Upload-Offset")
    }
}

extension UploadRequest {
    /// Reads `conversation`, `type`, `name` and `id` from the query, and the hash from the header `Repr-Digest`.
    ///
    /// - Throws: `invalid-parameter` with the name of the missing, repeated or invalid parameter.
    package init(_ query: [String: [String]], _ headers: HTTPFields) throws(ChatError) {
        func one(_ name: String) throws(ChatError) -> String? {
            guard let given = query[name] else { return nil }
            guard given.count == 1 else { throw .invalidParameter(name, "must be given once") }
            return given[0]
        }
        guard let conversation = try one("conversation") else {
            throw .invalidParameter(
                "conversation", "is missing; set it to the conversation to send the file to, for example group:swift")
        }
        try self.init(
            conversation: try ConversationID(conversation),
            media: try one("id").map { (id) throws(ChatError) in try MediaID(id, parameter: "id") },
            type: try one("type").map { (name) throws(ChatError) in try MessageType(name) } ?? .file,
            name: try one("name"), expected: try headers[.reprDigest].flatMap(Self.sha256(in:)))
    }

    /// Returns the SHA-256 hash in a `Repr-Digest` header (RFC 9530), or `nil` if it has only other digests.
    ///
    /// A hash without the name of its algorithm, such as `ab12`, looks like a digest that has a name and no value. So
    /// every digest must have a value.
    private static func sha256(in text: String) throws(ChatError) -> BlobID? {
        let unreadable = ChatError.invalidParameter(
            "Repr-Digest", "must be a SHA-256 hash in base64 between colons, for example sha-256=:…=:")
        var parser = StructuredFieldValueParser(Array(text.utf8))
        guard let digests = try? parser.parseDictionaryFieldValue() else { throw unreadable }
        for (_, digest) in digests where base64(of: digest) == nil { throw unreadable }
        guard let digest = digests["sha-256"] else { return nil }
        guard let hash = base64(of: digest).flatMap({ Data(base64Encoded: $0) }).flatMap({ BlobID($0) }) else {
            throw unreadable
        }
        return hash
    }

    private static func base64(of digest: ItemOrInnerList) -> String? {
        guard case .item(let item) = digest, case .undecodedByteSequence(let base64) = item.rfc9651BareItem else {
            return nil
        }
        return base64
    }
}
