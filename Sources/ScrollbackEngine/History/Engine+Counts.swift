import Foundation
package import ScrollbackModel

extension Engine {
    /// The maximum number of conversations in one request.
    package static let maximumConversations = FetchQuery.maximumConversations

    /// Returns how many messages that the caller can see each conversation has at or after a time.
    ///
    /// The count is computed from sequence numbers without reading messages. In conversations that retain messages
    /// forever, it covers only the last `countWindowDays` days.
    ///
    /// - Throws: `invalid-parameter` if there are no conversations or more than 500. For a conversation that the caller
    ///   may not see, the count is the error.
    package func counts(
        since: [(conversation: ConversationID, time: Timetoken)], by caller: Caller
    ) throws -> [(conversation: ConversationID, count: Result<Int64, ChatError>)] {
        guard (1...Self.maximumConversations).contains(since.count) else {
            throw ChatError.invalidParameter(
                "since", "must have 1...\(Self.maximumConversations) conversations", limit: Self.maximumConversations)
        }
        try checkHistory(by: caller)
        let settings = settings
        let now = clock()
        return try store.read { store in
            try since.map { conversation, time in
                do {
                    let access = try access(to: conversation.logID.absolute(for: caller.user), for: caller, in: store)
                    let row = access.conversation
                    var first = time
                    let policy = row.retention.map { RetentionPolicy(stored: $0) } ?? settings.retention
                    if policy == .forever, let days = settings.countWindowDays {
                        first = max(first, Timetoken(now.addingTimeInterval(-86_400 * Double(days))))
                    }
                    return (conversation, .success(try Self.count(since: first, access, in: store)))
                } catch let error as ChatError where error.status < 500 {
                    return (conversation, .failure(error))
                }
            }
        }
    }

    private static func count(since time: Timetoken, _ access: Access, in store: any StoreReader) throws -> Int64 {
        let row = access.conversation
        guard row.timetoken >= time, let highest = access.visible.highest else { return 0 }
        let first = try store.lastPosition(in: row, before: time) + 1
        guard first <= highest else { return 0 }
        return try store.messageCount(in: access.visible.clipped(to: first...highest), of: row.number)
    }
}
