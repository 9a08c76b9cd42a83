/// A reference to an action of a message: by its timetoken, or the user's own action by its type and value.
package enum ActionReference: Hashable, Sendable {
    case at(Timetoken)
    case own(type: String, value: String)
}
