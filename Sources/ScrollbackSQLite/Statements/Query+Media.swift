extension Query {
    /// The SQL of files and uploads; `nil` for other statements.
    var mediaSQL: String? {
        switch self {
        case .media: "SELECT \(Self.mediaColumns) FROM media WHERE id = ?"
        case .mediaUnused:
            """
            SELECT \(Self.mediaColumns) FROM media WHERE unusedSince IS NOT NULL AND unusedSince < ?
            ORDER BY unusedSince
            """
        case .mediaCreated: "SELECT \(Self.mediaColumns) FROM media WHERE createdAt < ? ORDER BY createdAt"
        case .blobInFile: "SELECT 1 FROM media WHERE blob = ? LIMIT 1"
        case .blobInThumbnail: "SELECT 1 FROM media WHERE thumbnail = ? LIMIT 1"
        case .conversationUsing:
            """
            SELECT conversation FROM mediaUse WHERE media = ? AND conversation > ? ORDER BY conversation LIMIT 1
            """
        case .usesAt:
            "SELECT 1 FROM mediaUse WHERE media = ? AND conversation = ? AND seq BETWEEN ? AND ? LIMIT 1"
        case .usesOfPlaces:
            """
            SELECT media, conversation, seq FROM mediaUse WHERE conversation = ? AND seq BETWEEN ? AND ?
            ORDER BY seq, media
            """
        case .upload: "SELECT \(Self.uploadColumns) FROM upload WHERE id = ?"
        case .openUploads: "SELECT count(*) FROM upload WHERE owner = ? AND state = 0"
        case .uploadsTouched: "SELECT \(Self.uploadColumns) FROM upload WHERE touchedAt < ? ORDER BY touchedAt"
        case .putMedia:
            """
            INSERT INTO media (\(Self.mediaColumns)) VALUES (\(Self.places(17)))
            ON CONFLICT (id) DO UPDATE SET (\(Self.mediaState)) = (\(Self.excluded(Self.mediaState)))
            """
        case .removeMedia: "DELETE FROM media WHERE id = ?"
        case .insertUse:
            """
            INSERT INTO mediaUse (media, conversation, seq) VALUES (?, ?, ?)
            ON CONFLICT (media, conversation, seq) DO NOTHING
            """
        case .removeUse: "DELETE FROM mediaUse WHERE media = ? AND conversation = ? AND seq = ?"
        case .putUpload:
            """
            INSERT INTO upload (\(Self.uploadColumns)) VALUES (\(Self.places(11)))
            ON CONFLICT (id) DO UPDATE SET (\(Self.uploadState)) = (\(Self.excluded(Self.uploadState)))
            """
        case .removeUpload: "DELETE FROM upload WHERE id = ?"
        default: nil
        }
    }

    // MARK: Columns, in the order in which rows are read and written

    /// The columns that can change; the bytes of a file never do.
    private static let mediaState =
        "thumbnail, thumbnailSize, thumbnailType, thumbnailWidth, thumbnailHeight, unusedSince"
    static let mediaColumns =
        "id, owner, conversation, type, name, mediaType, size, blob, width, height, createdAt, \(mediaState)"
    private static let uploadState = "length, offset, state, touchedAt"
    static let uploadColumns = "id, media, owner, conversation, type, name, expected, \(uploadState)"
}
