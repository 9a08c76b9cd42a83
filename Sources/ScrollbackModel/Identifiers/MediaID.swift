public import Foundation

/// A file's UUID, made at random by the device that sends it.
public struct MediaID: Hashable, Sendable {
    /// The sixteen bytes.
    public let uuid: UUID

    /// An id that nothing has yet.
    public init() {
        uuid = UUID()
    }

    /// An id that is known already.
    public init(_ uuid: UUID) {
        self.uuid = uuid
    }

    /// Reads the 36-character text form, in either case.
    ///
    /// - Throws: `invalid-parameter` when it is not a UUID.
    public init(_ text: String, parameter: String = "media") throws(ChatError) {
        uuid = try MessageID(text, parameter: parameter).uuid
    }
}

extension MediaID: CustomStringConvertible, Comparable {
    /// The lower-case text form.
    public var description: String { MessageID(uuid).description }

    /// The order of the sixteen bytes, for lists.
    public static func < (a: MediaID, b: MediaID) -> Bool { a.uuid < b.uuid }
}
