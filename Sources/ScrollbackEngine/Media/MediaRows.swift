package import Foundation
package import ScrollbackModel

/// A file as it is stored: whose it is, and what its bytes are.
package struct MediaRow: Hashable, Sendable {
    /// The small picture that goes with a file.
    package struct Thumbnail: Hashable, Sendable {
        package var blob: BlobID
        package var size: Int64
        package var mediaType: String
        /// As it is to be looked at.
        package var pixels: Media.Size

        package init(blob: BlobID, size: Int64, mediaType: String, pixels: Media.Size) {
            self.blob = blob
            self.size = size
            self.mediaType = mediaType
            self.pixels = pixels
        }
    }

    package var id: MediaID
    package var owner: UserID
    /// Where it was uploaded for.
    package var conversation: ConversationID
    /// The type of message it was uploaded for.
    package var type: MessageType
    package var name: String?
    /// By its bytes.
    package var mediaType: String
    package var size: Int64
    package var blob: BlobID
    /// Of a picture that can be shown, as it is to be looked at.
    package var pixels: Media.Size?
    package var thumbnail: Thumbnail?
    package var createdAt: Date
    /// Since when no message has referred to it; absent while one does.
    package var unusedSince: Date?

    package init(
        id: MediaID, owner: UserID, conversation: ConversationID, type: MessageType, name: String? = nil,
        mediaType: String, size: Int64, blob: BlobID, pixels: Media.Size? = nil, createdAt: Date
    ) {
        self.id = id
        self.owner = owner
        self.conversation = conversation
        self.type = type
        self.name = name
        self.mediaType = mediaType
        self.size = size
        self.blob = blob
        self.pixels = pixels
        self.createdAt = createdAt
        unusedSince = createdAt
    }
}

/// That the message at a place refers to a file.
package struct MediaUseRow: Hashable, Sendable {
    package var media: MediaID
    package var conversation: Int64
    package var seq: Seq

    package init(media: MediaID, conversation: Int64, seq: Seq) {
        self.media = media
        self.conversation = conversation
        self.seq = seq
    }
}

/// An upload as it is stored: what it is to become, and how much of it is on disk.
package struct UploadRow: Hashable, Sendable {
    package enum State: Int64, Sendable {
        case open = 0
        /// The file is there; the row is kept for who lost the answer.
        case done = 1
    }

    package var id: UploadID
    /// The file's id, once it is there.
    package var media: MediaID
    package var owner: UserID
    /// Its absolute name.
    package var conversation: ConversationID
    package var type: MessageType
    package var name: String?
    /// How long it will be, if that was said.
    package var length: Int64?
    /// What its bytes' hash must be, if that was said.
    package var expected: BlobID?
    /// How many bytes are on disk.
    package var offset: Int64
    package var state: State
    /// When something last came.
    package var touchedAt: Date

    package init(
        id: UploadID = UploadID(), media: MediaID = MediaID(UUID()), owner: UserID, conversation: ConversationID,
        type: MessageType, name: String? = nil, length: Int64? = nil, expected: BlobID? = nil, touchedAt: Date
    ) {
        self.id = id
        self.media = media
        self.owner = owner
        self.conversation = conversation
        self.type = type
        self.name = name
        self.length = length
        self.expected = expected
        offset = 0
        state = .open
        self.touchedAt = touchedAt
    }
}
