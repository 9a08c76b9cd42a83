package import Foundation
package import ScrollbackModel

/// A stored file: its owner and the properties of its bytes.
package struct MediaRow: Hashable, Sendable {
    /// A file's thumbnail.
    package struct Thumbnail: Hashable, Sendable {
        package var blob: BlobID
        package var size: Int64
        package var mediaType: String
        /// The size after applying the orientation, in pixels.
        package var pixels: Media.Size
        /// When the thumbnail was added; members whose membership ended earlier don't see it.
        package var addedAt: Timetoken

        package init(
            blob: BlobID, size: Int64, mediaType: String, pixels: Media.Size,
            addedAt: Timetoken = Timetoken(rawValue: 0)
        ) {
            self.blob = blob
            self.size = size
            self.mediaType = mediaType
            self.pixels = pixels
            self.addedAt = addedAt
        }
    }

    package var id: MediaID
    package var owner: UserID
    /// The conversation that the file was uploaded for.
    package var conversation: ConversationID
    /// The type of message that the file was uploaded for.
    package var type: MessageType
    package var name: String?
    /// The media type that the bytes show.
    package var mediaType: String
    package var size: Int64
    package var blob: BlobID
    /// The size of an image after applying its orientation, in pixels.
    package var pixels: Media.Size?
    package var thumbnail: Thumbnail?
    package var createdAt: Date
    /// Since when no message refers to the file; `nil` while a message does.
    ///
    /// It is not before ``neededUntil``.
    package var unusedSince: Date?
    /// Until when a scheduled message needs the file; `nil` if none ever did.
    package var neededUntil: Date?

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

/// A message's reference to a file.
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

/// A stored upload: the file it will become, and how many bytes are stored.
package struct UploadRow: Hashable, Sendable {
    package enum State: Int64, Sendable {
        case open = 0
        /// The file exists; the row stays so that a client that lost the answer can get it.
        case done = 1
    }

    package var id: UploadID
    /// The file's ID.
    package var media: MediaID
    package var owner: UserID
    /// The absolute name of the conversation.
    package var conversation: ConversationID
    package var type: MessageType
    package var name: String?
    /// The file's length in bytes, if the client has sent it.
    package var length: Int64?
    /// The expected hash of the file, if the client has sent it.
    package var expected: BlobID?
    /// The number of stored bytes.
    package var offset: Int64
    package var state: State
    /// When data was last received.
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

    /// The bytes that the upload occupies of its owner's quota while it is open: its length, or what was received if
    /// the length is unknown.
    var occupiedBytes: Int64 { max(length ?? 0, offset) }
}
