/// An optional error in one machine word.
///
/// Messages are copied often and almost never have an error.
indirect enum BoxedError: Hashable, Sendable {
    case none
    case some(ChatError)

    init(_ error: ChatError?) {
        self = error.map { .some($0) } ?? .none
    }

    var error: ChatError? {
        if case .some(let error) = self { error } else { nil }
    }
}
