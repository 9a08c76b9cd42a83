/// The limits that the server and the client share.
///
/// A server announces its own limits in `welcome`.
public struct Limits: Hashable, Sendable {
    /// The maximum size of a frame or body in bytes.
    public var frameBytes: Int
    /// The maximum size of the content of one message in bytes of JSON.
    public var contentBytes: Int
    /// The maximum size of the `metadata`, `extra` or `push` of one message in bytes of JSON.
    public var attributeBytes: Int
    /// The maximum number of messages in a page of history, and of elements in other lists.
    public var pageSize: Int

    /// Creates limits that differ from the ``standard`` ones.
    public init(frameBytes: Int, contentBytes: Int, attributeBytes: Int, pageSize: Int) {
        self.frameBytes = frameBytes
        self.contentBytes = contentBytes
        self.attributeBytes = attributeBytes
        self.pageSize = pageSize
    }

    /// The limits of this version.
    public static let standard = Limits(
        frameBytes: 512 * 1024, contentBytes: 128 * 1024, attributeBytes: 32 * 1024, pageSize: 100)
}
