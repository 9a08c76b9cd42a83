import ScrollbackEngine
import ScrollbackModel

extension PostgresWriter {
    private static let putMedia = Statement(
        insertingInto: "media", MediaRow.columns,
        onConflict: "(id) DO UPDATE SET (\(MediaRow.updatedColumns)) = (\(excluded(MediaRow.updatedColumns)))")

    func put(_ media: MediaRow) throws {
        try connection.gather(Self.putMedia, key: media.id) { $0.add(media) }
        connection.ahead.put(media)
    }

    private static let removeMedia = Statement("DELETE FROM media WHERE id = ?")

    func remove(_ media: MediaID) throws {
        try connection.enqueue(Self.removeMedia) { $0.add(media.uuid) }
    }

    private static let insertUse = Statement(
        """
        INSERT INTO mediaUse (\(MediaUseRow.columns)) VALUES (\(placeholders(MediaUseRow.columns)))
        ON CONFLICT (\(MediaUseRow.columns)) DO NOTHING
        """)

    func insert(_ use: MediaUseRow) throws {
        try connection.enqueue(Self.insertUse) { $0.add(use) }
    }

    private static let removeUse = Statement(
        "DELETE FROM mediaUse WHERE media = ? AND conversation = ? AND seq = ?")

    func remove(_ use: MediaUseRow) throws {
        try connection.enqueue(Self.removeUse) { $0.add(use) }
    }

    private static let putUpload = Statement(
        """
        INSERT INTO upload (\(UploadRow.columns)) VALUES (\(placeholders(UploadRow.columns)))
        ON CONFLICT (id) DO UPDATE SET (\(UploadRow.updatedColumns)) = (\(excluded(UploadRow.updatedColumns)))
        """)

    func put(_ upload: UploadRow) throws {
        try connection.enqueue(Self.putUpload) { $0.add(upload) }
    }

    private static let removeUpload = Statement("DELETE FROM upload WHERE id = ?")

    func remove(_ upload: UploadID) throws {
        try connection.enqueue(Self.removeUpload) { $0.add(upload.text) }
    }
}
