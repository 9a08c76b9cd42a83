import ScrollbackModel
import ScrollbackWire

/// What a reader of settings does with members that are not settings.
package enum UnknownSettings: Sendable {
    /// Skips them, because a newer version of the server may have stored them.
    case skip
    /// Refuses them, so that a request with a misspelled setting fails.
    case refuse

    /// Consumes the value of an unknown member.
    ///
    /// - Parameters:
    ///   - object: The path of the object that has the member, such as `webhooks.after`.
    ///   - known: The names of the object's settings, of which the error suggests one.
    /// - Throws: `invalid-parameter` with the member's path if unknown settings are refused.
    func read(
        _ name: String, in object: String, besides known: [String], _ value: inout JSONReader
    ) throws(ChatError) {
        switch self {
        case .skip: try value.skip()
        case .refuse: throw .unknownParameter(name, in: object, besides: known)
        }
    }
}
