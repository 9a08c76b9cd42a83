public import Foundation

/// The ID of a file: a random UUID that the sender's device creates.
public struct MediaID: Hashable, Sendable {
    /// The UUID.
    public let uuid: UUID

    /// Creates a new random ID.
    public init() {
        uuid = UUID()
    }

    /// Creates an ID from a UUID.
    public init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Parses the 36-character text form, in upper or lower case.
    ///
    /// - Throws: `invalid-parameter` if the text is not a UUID.
    public init(_ text: String, parameter: String = "media") throws(ChatError) {
        uuid = try MessageID(text, parameter: parameter).uuid
    }
}

extension MediaID: CustomStringConvertible, Comparable {
    /// The lowercase text form.
    public var description: String { MessageID(uuid).description }

    /// Orders IDs by their 16 bytes, for lists.
    public static func < (a: MediaID, b: MediaID) -> Bool { a.uuid < b.uuid }
}
