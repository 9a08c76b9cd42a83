import ScrollbackModel
import ScrollbackWire

extension ClientOperation {
    /// Reads the operation from the text of a frame.
    init(frame text: String, limits: Limits = .standard) throws {
        let frame = try RequestFrame(Array(text.utf8))
        precondition(frame.type == Self.endpoint.frame, "the frame is one of another operation: \(frame.type)")
        var reader = RequestReader(frame: frame.members, limits: limits)
        try self.init(from: &reader)
    }
}
