import ScrollbackEngine
import ScrollbackModel
import StoreFiles

extension SQLiteWriter {
    func put(_ media: MediaRow) throws {
        try connection.run(.putMedia, bind: { $0.add(media) })
    }

    func remove(_ media: MediaID) throws {
        try connection.run(.removeMedia, bind: { $0.add(media.uuid) })
    }

    func insert(_ use: MediaUseRow) throws {
        try connection.run(.insertUse, bind: { $0.add(use) })
    }

    func remove(_ use: MediaUseRow) throws {
        try connection.run(.removeUse, bind: { $0.add(use) })
    }

    func put(_ upload: UploadRow) throws {
        try connection.run(.putUpload, bind: { $0.add(upload) })
    }

    func remove(_ upload: UploadID) throws {
        try connection.run(.removeUpload, bind: { $0.add(upload.text) })
    }
}
