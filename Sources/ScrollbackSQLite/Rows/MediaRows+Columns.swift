import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

extension MediaRow: StoredRow, Bindable {
    static let columns =
        "id, owner, conversation, type, name, mediaType, size, blob, width, height, createdAt, \(updatedColumns)"
    /// The columns that can change; the bytes of a file never do.
    static let updatedColumns = """
        thumbnail, thumbnailSize, thumbnailType, thumbnailWidth, thumbnailHeight, thumbnailAt, unusedSince, neededUntil
        """

    init(_ columns: inout Columns) throws {
        let id = MediaID(try columns.uuid("id"))
        let owner = columns.userID()
        let conversation = try ConversationID(columns.text())
        let type = MessageType(rawValue: columns.text())
        let name = try columns.optionalText("name", of: .media(id))
        let (mediaType, size) = (columns.text(), columns.integer())
        guard let blob = columns.optionalBlob() else { throw Columns.unreadable("blob") }
        self.init(
            id: id, owner: owner, conversation: conversation, type: type, name: name, mediaType: mediaType,
            size: size, blob: blob, pixels: columns.optionalSize(), createdAt: columns.date())
        let (thumbnail, thumbnailSize, thumbnailType) = (columns.optionalBlob(), columns.integer(), columns.text())
        let (thumbnailPixels, thumbnailAt) = (columns.optionalSize(), columns.timetoken())
        if let thumbnail, let thumbnailPixels {
            self.thumbnail = Thumbnail(
                blob: thumbnail, size: thumbnailSize, mediaType: thumbnailType, pixels: thumbnailPixels,
                addedAt: thumbnailAt)
        }
        unusedSince = columns.optionalDate()
        neededUntil = columns.optionalDate()
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(id.uuid, owner, conversation.description, type.rawValue)
        parameters.add(name, "name", of: .media(id))
        parameters.add(mediaType, size, blob)
        parameters.add(pixels?.width.stored, pixels?.height.stored, createdAt)
        parameters.add(thumbnail?.blob, thumbnail?.size, thumbnail?.mediaType)
        parameters.add(thumbnail?.pixels.width.stored, thumbnail?.pixels.height.stored)
        parameters.add(thumbnail?.addedAt ?? Timetoken(rawValue: 0), unusedSince, neededUntil)
    }
}

extension UploadRow: StoredRow, Bindable {
    static let columns = "id, media, owner, conversation, type, name, expected, \(updatedColumns)"
    static let updatedColumns = "length, received, state, touchedAt"

    init(_ columns: inout Columns) throws {
        guard let id = UploadID(columns.text()) else { throw Columns.unreadable("id") }
        let media = MediaID(try columns.uuid("media"))
        let owner = columns.userID()
        let conversation = try ConversationID(columns.text())
        let type = MessageType(rawValue: columns.text())
        let name = try columns.optionalText("name", of: .upload(id))
        let (expected, length, offset) = (columns.optionalBlob(), columns.optionalInteger(), columns.integer())
        let state: State = try columns.enumValue("state")
        self.init(
            id: id, media: media, owner: owner, conversation: conversation, type: type, name: name, length: length,
            expected: expected, touchedAt: columns.date())
        self.offset = offset
        self.state = state
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(id.text, media.uuid, owner)
        parameters.add(conversation.description, type.rawValue)
        parameters.add(name, "name", of: .upload(id))
        parameters.add(expected, length)
        parameters.add(offset, state.rawValue, touchedAt)
    }
}

extension MediaUseRow: StoredRow, Bindable {
    static let columns = "media, conversation, seq"

    init(_ columns: inout Columns) throws {
        self.init(
            media: MediaID(try columns.uuid("media")), conversation: columns.integer(), seq: columns.integer())
    }

    func bind(to parameters: inout Parameters) {
        parameters.add(media.uuid, conversation, seq)
    }
}

extension BlobID: Bindable {
    func bind(to parameters: inout Parameters) {
        var value = SIMD32<UInt8>()
        for index in value.indices { value[index] = bytes[index] }
        parameters.add(bytesOf: value)
    }
}

extension Int {
    fileprivate var stored: Int64 { Int64(self) }
}

extension Columns {
    fileprivate mutating func optionalSize() -> Media.Size? {
        let (width, height) = (optionalInteger(), optionalInteger())
        guard let width, let height else { return nil }
        return Media.Size(width: Int(width), height: Int(height))
    }

    fileprivate mutating func optionalBlob() -> BlobID? {
        bytes(as: SIMD32<UInt8>.self).flatMap { bytes in BlobID(bytes.indices.map { bytes[$0] }) }
    }
}
