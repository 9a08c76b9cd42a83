/// Limits that both sides know.
///
/// A server tells its own in `welcome`.
public struct Limits: Hashable, Sendable {
    /// The largest frame or body, in bytes.
    public var frameBytes: Int
    /// The largest content of one message, in bytes of JSON.
    public var contentBytes: Int
    /// The largest `metadata`, `extra` or `push` of one message, in bytes of JSON.
    public var attributeBytes: Int
    /// The most messages of one page of history, and the most elements of other lists.
    public var pageSize: Int

    /// Limits of a server that differ from the ``standard`` ones.
    public init(frameBytes: Int, contentBytes: Int, attributeBytes: Int, pageSize: Int) {
        self.frameBytes = frameBytes
        self.contentBytes = contentBytes
        self.attributeBytes = attributeBytes
        self.pageSize = pageSize
    }

    /// The limits of this version (row 87: 128 KiB of content).
    public static let standard = Limits(
        frameBytes: 512 * 1024, contentBytes: 128 * 1024, attributeBytes: 32 * 1024, pageSize: 100)
}
