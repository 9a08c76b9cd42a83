/// Which action of a message is meant: by its own time, or the user's own by what it says.
package enum ActionReference: Hashable, Sendable {
    case at(Timetoken)
    case own(type: String, value: String)
}
