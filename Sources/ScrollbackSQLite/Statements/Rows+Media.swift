import Foundation
import ScrollbackEngine
import ScrollbackModel
import StoreFiles

// Conversions between columns, parameters and the rows of files and uploads, in the column order of `Query`.

extension Columns {
    mutating func media() throws -> MediaRow {
        guard let id = optionalUUID() else { throw Self.unreadable("id") }
        let owner = UserID(known: text())
        let conversation = try ConversationID(text())
        let type = MessageType(rawValue: text())
        let name = try optionalText("name", of: .media(MediaID(id)))
        let mediaType = text()
        let size = integer()
        guard let blob = optionalBlob() else { throw Self.unreadable("blob") }
        let pixels = optionalSize()
        let createdAt = optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0)
        var row = MediaRow(
            id: MediaID(id), owner: owner, conversation: conversation, type: type, name: name, mediaType: mediaType,
            size: size, blob: blob, pixels: pixels, createdAt: createdAt)
        let thumbnail = optionalBlob()
        let thumbnailSize = integer()
        let thumbnailType = text()
        let thumbnailPixels = optionalSize()
        if let thumbnail, let thumbnailPixels {
            row.thumbnail = MediaRow.Thumbnail(
                blob: thumbnail, size: thumbnailSize, mediaType: thumbnailType, pixels: thumbnailPixels)
        }
        row.unusedSince = optionalDate()
        return row
    }

    private mutating func optionalSize() -> Media.Size? {
        let width = optionalInteger()
        let height = optionalInteger()
        guard let width, let height else { return nil }
        return Media.Size(width: Int(width), height: Int(height))
    }

    private mutating func optionalBlob() -> BlobID? {
        bytes(as: SIMD32<UInt8>.self).flatMap { bytes in BlobID(bytes.indices.map { bytes[$0] }) }
    }

    mutating func use() throws -> MediaUseRow {
        guard let id = optionalUUID() else { throw Self.unreadable("media") }
        return MediaUseRow(media: MediaID(id), conversation: integer(), seq: integer())
    }

    mutating func upload() throws -> UploadRow {
        guard let id = UploadID(text()), let media = optionalUUID() else { throw Self.unreadable("id") }
        let owner = UserID(known: text())
        let conversation = try ConversationID(text())
        let type = MessageType(rawValue: text())
        let name = try optionalText("name", of: .upload(id))
        let expected = optionalBlob()
        let length = optionalInteger()
        let offset = integer()
        guard let state = UploadRow.State(rawValue: integer()) else { throw Self.unreadable("state") }
        var row = UploadRow(
            id: id, media: MediaID(media), owner: owner, conversation: conversation, type: type, name: name,
            length: length, expected: expected, touchedAt: optionalDate() ?? Date(timeIntervalSinceReferenceDate: 0))
        row.offset = offset
        row.state = state
        return row
    }
}

extension Parameters {
    mutating func add(_ row: MediaRow) {
        add(row.id.uuid)
        add(row.owner.text)
        add(row.conversation.description)
        add(row.type.rawValue)
        add(row.name, "name", of: .media(row.id))
        add(row.mediaType)
        add(row.size)
        add(row.blob)
        add(row.pixels)
        add(row.createdAt)
        add(row.thumbnail?.blob)
        add(row.thumbnail?.size)
        add(row.thumbnail?.mediaType)
        add(row.thumbnail?.pixels)
        add(row.unusedSince)
    }

    private mutating func add(_ size: Media.Size?) {
        add(size.map { Int64($0.width) })
        add(size.map { Int64($0.height) })
    }

    mutating func add(_ blob: BlobID?) {
        guard let blob else { return add(nil as Int64?) }
        var bytes = SIMD32<UInt8>()
        for index in bytes.indices { bytes[index] = blob.bytes[index] }
        add(bytesOf: bytes)
    }

    mutating func add(_ use: MediaUseRow) {
        add(use.media.uuid)
        add(use.conversation)
        add(use.seq)
    }

    mutating func add(_ row: UploadRow) {
        add(row.id.text)
        add(row.media.uuid)
        add(row.owner.text)
        add(row.conversation.description)
        add(row.type.rawValue)
        add(row.name, "name", of: .upload(row.id))
        add(row.expected)
        add(row.length)
        add(row.offset)
        add(row.state.rawValue)
        add(row.touchedAt)
    }
}
