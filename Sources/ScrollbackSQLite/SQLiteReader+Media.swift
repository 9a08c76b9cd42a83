import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension SQLiteReader {
    private static let media = Statement<MediaRow>("SELECT \(MediaRow.columns) FROM media WHERE id = ?")

    func media(_ id: MediaID) throws -> MediaRow? {
        try connection.first(Self.media) { $0.add(id.uuid) }
    }

    private static let unusedMedia = Statement<MediaRow>(
        """
        SELECT \(MediaRow.columns) FROM media WHERE unusedSince IS NOT NULL AND unusedSince < ?
        ORDER BY unusedSince
        """)

    func media(unusedBefore time: Date, limit: Int) throws -> [MediaRow] {
        try connection.all(Self.unusedMedia, limit: limit) { $0.add(time) }
    }

    private static let oldMedia = Statement<MediaRow>(
        "SELECT \(MediaRow.columns) FROM media WHERE createdAt < ? ORDER BY createdAt")

    func media(createdBefore time: Date, limit: Int) throws -> [MediaRow] {
        try connection.all(Self.oldMedia, limit: limit) { $0.add(time) }
    }

    private static let mediaOfOwner = Statement<MediaRow>(
        "SELECT \(MediaRow.columns) FROM media WHERE owner = ? ORDER BY id")
    private static let mediaOfOwnerAfter = Statement<MediaRow>(
        "SELECT \(MediaRow.columns) FROM media WHERE owner = ? AND id > ? ORDER BY id")

    func media(of owner: UserID, after id: MediaID?, limit: Int) throws -> [MediaRow] {
        guard let id else { return try connection.all(Self.mediaOfOwner, limit: limit) { $0.add(owner) } }
        return try connection.all(Self.mediaOfOwnerAfter, limit: limit) { $0.add(owner, id.uuid) }
    }

    private static let mediaWithBlob = Statement("SELECT 1 FROM media WHERE blob = ? LIMIT 1") { $0.flag() }
    private static let mediaWithThumbnail = Statement("SELECT 1 FROM media WHERE thumbnail = ? LIMIT 1") { $0.flag() }

    func isUsed(_ blob: BlobID) throws -> Bool {
        try connection.first(Self.mediaWithBlob) { $0.add(blob) } != nil
            || connection.first(Self.mediaWithThumbnail) { $0.add(blob) } != nil
    }

    // MARK: Uses

    private static let conversationUsing = Statement(
        "SELECT conversation FROM mediaUse WHERE media = ? AND conversation > ? ORDER BY conversation LIMIT 1"
    ) { $0.integer() }

    func conversation(using media: MediaID, after number: Int64) throws -> Int64? {
        try connection.first(Self.conversationUsing) { $0.add(media.uuid, number) }
    }

    private static let useInRange = Statement(
        "SELECT seq FROM mediaUse WHERE media = ? AND conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT 1"
    ) { $0.integer() }

    func firstUse(of media: MediaID, at places: SeqRange, in conversation: Int64) throws -> Seq? {
        try connection.first(Self.useInRange) { $0.add(media.uuid, conversation, places) }
    }

    private static let usesInRange = Statement<MediaUseRow>(
        """
        SELECT \(MediaUseRow.columns) FROM mediaUse WHERE conversation = ? AND seq BETWEEN ? AND ?
        ORDER BY seq, media
        """)

    func uses(at places: SeqRange, in conversation: Int64, limit: Int) throws -> [MediaUseRow] {
        try connection.all(Self.usesInRange, limit: limit) { $0.add(conversation, places) }
    }

    // MARK: Uploads

    private static let upload = Statement<UploadRow>("SELECT \(UploadRow.columns) FROM upload WHERE id = ?")

    func upload(_ id: UploadID) throws -> UploadRow? {
        try connection.first(Self.upload) { $0.add(id.text) }
    }

    private static let openUploads = Statement("SELECT count(*) FROM upload WHERE owner = ? AND state = 0") {
        Int($0.integer())
    }

    func openUploads(of user: UserID) throws -> Int {
        try connection.first(Self.openUploads) { $0.add(user) } ?? 0
    }

    private static let openUploadBytes = Statement(
        "SELECT ifnull(sum(max(ifnull(length, 0), received)), 0) FROM upload WHERE owner = ? AND state = 0"
    ) { $0.integer() }

    func openUploadBytes(of user: UserID) throws -> Int64 {
        try connection.first(Self.openUploadBytes) { $0.add(user) } ?? 0
    }

    private static let oldUploads = Statement<UploadRow>(
        "SELECT \(UploadRow.columns) FROM upload WHERE touchedAt < ? ORDER BY touchedAt")

    func uploads(touchedBefore time: Date, limit: Int) throws -> [UploadRow] {
        try connection.all(Self.oldUploads, limit: limit) { $0.add(time) }
    }
}
