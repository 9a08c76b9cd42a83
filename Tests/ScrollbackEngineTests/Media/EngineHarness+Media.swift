import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

/// Short names for the file operations of tests.
extension EngineHarness {
    @discardableResult
    func upload(
        _ bytes: [UInt8], as type: MessageType = .file, to id: ConversationID, by user: UserID, name: String? = nil
    ) async throws -> MediaRow {
        try await engine.upload(
            bytes, UploadRequest(conversation: id, type: type, name: name), by: Caller(user: user)
        ).file
    }

    func begin(_ request: UploadRequest, by user: UserID) async throws -> UploadRow {
        guard case .upload(let row) = try await engine.beginUpload(request, by: Caller(user: user)) else {
            throw ChatError(.conflict, "The file exists already.")
        }
        return row
    }

    func beginTransfer(_ request: UploadRequest, by caller: Caller, isResumable: Bool) async throws -> Transfer {
        let start = try await engine.beginTransfer(request, by: caller, isResumable: isResumable, interrupt: {})
        guard case .upload(let transfer) = start else { throw ChatError(.conflict, "The file exists already.") }
        return transfer
    }

    func submission(of row: MediaRow, type: MessageType? = nil, id: MessageID? = nil) throws -> Submission {
        try submission(type ?? row.type, #"{"media":"\#(row.id)"}"#, id: id)
    }

    func submission(_ type: MessageType, _ json: String, id: MessageID? = nil) throws -> Submission {
        Submission(id: id ?? newID(), content: try MessageContent(type: type, json: RawJSON(json)))
    }

    /// Whether a user may read a file.
    func mayRead(_ row: MediaRow, _ user: UserID, isAdmin: Bool = false) throws -> Bool {
        do {
            _ = try engine.file(row.id, by: Caller(user: user, isAdmin: isAdmin))
            return true
        } catch let error as ChatError {
            #expect(error.code == .unknownMedia)
            return false
        }
    }
}
