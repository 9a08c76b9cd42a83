/// An error that is almost never there, in one word: messages are copied often.
indirect enum RareError: Hashable, Sendable {
    case none
    case some(ChatError)

    init(_ error: ChatError?) {
        self = error.map { .some($0) } ?? .none
    }

    var error: ChatError? {
        if case .some(let error) = self { error } else { nil }
    }
}
