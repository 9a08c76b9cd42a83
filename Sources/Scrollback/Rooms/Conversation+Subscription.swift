public import ScrollbackModel

extension Conversation {
    /// Hears a community channel or a room in full for as long as the returned value is held; other kinds are heard anyway.
    ///
    /// A connection that is lost and comes back goes on hearing it. A room that is full is asked again by itself.
    public func subscribe() -> Subscription {
        core.mailbox.post(.subscribe([id], isOn: true))
        return Subscription(id: id, core: core)
    }

    /// Hearing a channel or room; ends when it is let go of.
    public final class Subscription: Sendable {
        /// How a subscription stands.
        public enum State: Hashable, Sendable {
            /// The server was not asked yet, or has not answered.
            case waiting
            /// What is said there comes.
            case live
            /// The server said no: `room-full` is asked again by itself, anything else is not.
            case refused(ChatError)

            /// Whether both say the same; errors are compared by what they say.
            public static func == (a: State, b: State) -> Bool {
                switch (a, b) {
                case (.waiting, .waiting), (.live, .live): true
                case (.refused(let a), .refused(let b)): a == b
                default: false
                }
            }

            /// Hashes the case with its error's code.
            public func hash(into hasher: inout Hasher) {
                switch self {
                case .waiting: hasher.combine(0)
                case .live: hasher.combine(1)
                case .refused(let error):
                    hasher.combine(2)
                    hasher.combine(error.code)
                }
            }
        }

        private let id: ConversationID
        private let core: ClientCore

        init(id: ConversationID, core: ClientCore) {
            self.id = id
            self.core = core
        }

        /// Whether it is heard now.
        public var states: StateSequence<State> { core.subscriptions.source(of: id).sequence }

        deinit {
            core.mailbox.post(.subscribe([id], isOn: false))
        }
    }
}
