import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Registers the device for pushes, and fetches conversations that pushes announced.
extension Driver {
    func setPush(_ device: PushDevice?) async throws(ChatError) {
        var changed = push
        changed.set(device)
        let (wanted, isAcknowledged) = (changed.wanted, changed.isAcknowledged)
        try await core.store.write { try $0.savePushDevice(wanted, isAcknowledged: isAcknowledged) }
        push = changed
        await reconnectNow()
        sendPushRegistration()
    }

    /// Sends the next step of the push registration.
    func sendPushRegistration() {
        if connection != nil, let step = push.next() { send(step.request, .push(step)) }
        core.push.set(push.state)
    }

    func handlePushResponse(_ step: PushRegistration.Step, _ result: Result<[UInt8], ChatError>) async {
        let wasAcknowledged = push.isAcknowledged
        do throws(ChatError) {
            push.answered(step, devices: try step.devices(in: result.get()))
        } catch {
            push.failed(step, error)
            core.logger.warning("The device could not be registered for pushes.", metadata: ["code": "\(error.code)"])
            retry(after: error)
        }
        if push.isAcknowledged != wasAcknowledged {
            let (wanted, isAcknowledged) = (push.wanted, push.isAcknowledged)
            do {
                try await core.store.write { try $0.savePushDevice(wanted, isAcknowledged: isAcknowledged) }
            } catch {
                return await storeFailed(error)
            }
        }
        sendPushRegistration()
    }

    /// Fetches the heads of conversations that pushes announced, before other requests.
    func fetchPushedHeads() async throws(ChatError) {
        fetchHeads(try await core.store.read { try $0.pushedConversations() })
    }
}

extension PushRegistration.Step {
    fileprivate var request: any FrameRequest {
        switch self {
        case .list: ListPushDevices()
        case .put(let device): PutPushDevice(device: device)
        case .drop(let id): DeletePushDevice(device: id)
        }
    }

    /// The devices in the answer to ``list``.
    fileprivate func devices(in body: [UInt8]) throws(ChatError) -> [PushDevice] {
        guard self == .list else { return [] }
        var reader = try JSONReader(body)
        return try ListPushDevices.Answer(from: &reader).devices
    }
}

extension ClientCore {
    /// Processes the push inbox: stores its pushes first, and then deletes them from the inbox.
    func readPushInbox() async throws(ChatError) -> PushInbox.Contents {
        guard let inbox = pushInbox else { return PushInbox.Contents() }
        let (contents, names) = try inbox.read(for: user)
        if !contents.unreadableFiles.isEmpty {
            logger.warning(
                "Some pushes in the inbox could not be decoded.",
                metadata: ["count": "\(contents.unreadableFiles.count)"])
        }
        guard !names.isEmpty else { return contents }
        let messages = contents.messages
        let news = try await store.write { try $0.recordPushed(messages) }
        inbox.remove(names)
        if !news.isEmpty { mailbox.post(.pushed) }
        return contents
    }

    /// Processes the push inbox and logs errors, for callers that need no result.
    func processPushInbox() async {
        do {
            _ = try await readPushInbox()
        } catch {
            logger.warning("The push inbox can't be read.", metadata: ["code": "\(error.code)"])
        }
    }

    /// Deletes the pushes of a signed-out user from the push inbox.
    func clearPushInbox() {
        guard let inbox = pushInbox, let found = try? inbox.read(for: user) else { return }
        inbox.remove(found.names)
    }

    /// Removes this device's push registration from the server.
    ///
    /// - Parameter time: How long to wait for the server's confirmation.
    /// - Returns: The error if the registration could not be removed.
    func unregisterPush(within time: Duration) async -> ChatError? {
        do {
            try await ask { .setPush(nil, $0) }
        } catch {
            return error
        }
        let states = push.sequence
        if push.current != .off {
            switch connection.current {
            case .rejected(let error): return error
            case nil, .idle: return ChatError(.unreachable, "The client is not connected.")
            case .connecting, .online, .waiting: break
            }
        }
        return await withTaskGroup(of: ChatError?.self) { group in
            group.addTask {
                for await state in states {
                    switch state {
                    case .off: return nil
                    case .refused(let error): return error
                    case .waiting, .registered: continue
                    }
                }
                return Self.closed
            }
            group.addTask {
                try? await Task.sleep(for: time)
                return ChatError(.unreachable, "The server did not confirm in time that pushes to this device end.")
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
