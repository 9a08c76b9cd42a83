public import ScrollbackModel

extension Conversation {
    /// Subscribes to all messages of a community channel or room for as long as the returned value exists.
    ///
    /// Other kinds of conversation deliver all messages without a subscription. The subscription is restored after a
    /// reconnect. If a room is full, the client retries automatically.
    public func subscribe() -> Subscription {
        core.mailbox.post(.subscribe([id], isOn: true))
        return Subscription(id: id, core: core)
    }

    /// A subscription to a channel or room, which ends when the object is deallocated.
    public final class Subscription: Sendable {
        /// The state of a subscription.
        public enum State: Hashable, Sendable {
            /// The client has not sent the request yet, or is waiting for the answer.
            case waiting
            /// The subscription is active.
            case live
            /// The server refused the subscription.
            ///
            /// The client retries temporary errors such as `room-full`, and no others.
            case refused(ChatError)

            /// Returns whether two states are equal.
            ///
            /// Errors are compared by their content.
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

        /// The current state and its changes.
        public var states: StateSequence<State> { core.subscriptions.source(of: id).sequence }

        deinit {
            core.mailbox.post(.subscribe([id], isOn: false))
        }
    }
}
