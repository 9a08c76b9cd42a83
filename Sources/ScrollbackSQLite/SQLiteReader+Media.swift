import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteReader {
    func media(_ id: MediaID) throws -> MediaRow? {
        try connection.first(.media, bind: { $0.add(id.uuid) }, row: { try $0.media() })
    }

    func media(unusedBefore time: Date, limit: Int) throws -> [MediaRow] {
        try connection.all(.mediaUnused, limit: limit, bind: { $0.add(time) }, row: { try $0.media() })
    }

    func media(createdBefore time: Date, limit: Int) throws -> [MediaRow] {
        try connection.all(.mediaCreated, limit: limit, bind: { $0.add(time) }, row: { try $0.media() })
    }

    func isUsed(_ blob: BlobID) throws -> Bool {
        for query: Query in [.blobInFile, .blobInThumbnail]
        where try connection.first(query, bind: { $0.add(blob) }, row: { $0.integer() }) != nil { return true }
        return false
    }

    func conversation(using media: MediaID, after number: Int64) throws -> Int64? {
        try connection.first(
            .conversationUsing,
            bind: {
                $0.add(media.uuid)
                $0.add(number)
            }, row: { $0.integer() })
    }

    func uses(_ media: MediaID, at places: SeqRange, in conversation: Int64) throws -> Bool {
        try connection.first(
            .usesAt,
            bind: {
                $0.add(media.uuid)
                $0.add(conversation)
                $0.add(places.lowerBound)
                $0.add(places.upperBound)
            }, row: { $0.integer() }) != nil
    }

    func uses(at places: SeqRange, in conversation: Int64, limit: Int) throws -> [MediaUseRow] {
        try connection.all(
            .usesOfPlaces, limit: limit,
            bind: {
                $0.add(conversation)
                $0.add(places.lowerBound)
                $0.add(places.upperBound)
            }, row: { try $0.use() })
    }

    func upload(_ id: UploadID) throws -> UploadRow? {
        try connection.first(.upload, bind: { $0.add(id.text) }, row: { try $0.upload() })
    }

    func openUploads(of user: UserID) throws -> Int {
        try connection.first(.openUploads, bind: { $0.add(user.text) }, row: { Int($0.integer()) }) ?? 0
    }

    func uploads(touchedBefore time: Date, limit: Int) throws -> [UploadRow] {
        try connection.all(.uploadsTouched, limit: limit, bind: { $0.add(time) }, row: { try $0.upload() })
    }
}
