import ScrollbackModel
import ScrollbackSync

extension LocalReader {
    /// Returns the pinned messages of a conversation that are stored on this device, as they are stored.
    func pinnedMessages(in id: ConversationID) throws -> [Message] {
        guard let number = try number(of: id), let log = try log(number) else { return [] }
        var messages: [Message] = []
        try eachMessage(
            in: id, number: number, epoch: log.epoch,
            where: "flags & \(MessageColumns.pinnedBit) ORDER BY seq DESC", bind: { _ in }
        ) { message in
            messages.append(message)
            return true
        }
        return messages
    }

    /// Returns a message of this device with the queued changes, decrypted if possible.
    func changedMessage(_ id: MessageID, in conversation: ConversationID, by user: UserID) throws -> Message? {
        guard let message = try asStored.message(id, in: conversation) else { return nil }
        return decrypted(message.applying(try pendingChanges(in: conversation), by: user))
    }
}
