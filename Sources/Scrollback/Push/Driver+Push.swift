import Foundation
import Logging
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// Telling the server whether this device is reached by push, and asking it about what pushes told of.
extension Driver {
    func setPush(_ device: PushDevice?) async throws(ChatError) {
        var changed = push
        changed.set(device)
        let (wanted, isTold) = (changed.wanted, changed.isTold)
        try await core.store.write { try $0.savePushDevice(wanted, isTold: isTold) }
        push = changed
        kick()
        tellPush()
    }

    /// Asks the server what it is to be asked next.
    func tellPush() {
        if connection != nil, let step = push.next() { send(.push(step.operation), .push(step)) }
        core.push.set(push.state)
    }

    func pushAnswered(_ step: PushRegistration.Step, _ result: Result<[UInt8], ChatError>) async {
        let wasTold = push.isTold
        do throws(ChatError) {
            push.answered(step, devices: try step.devices(in: result.get()))
        } catch {
            push.failed(step, error)
            core.logger.warning("push can't be registered", metadata: ["code": "\(error.code)"])
            retry(after: error)
        }
        if push.isTold != wasTold {
            let (wanted, isTold) = (push.wanted, push.isTold)
            do {
                try await core.store.write { try $0.savePushDevice(wanted, isTold: isTold) }
            } catch {
                return await failed(error)
            }
        }
        tellPush()
    }

    /// What pushes told of is asked about before anything else.
    func askAboutPushed() async throws(ChatError) {
        learn(try await core.store.read { try $0.pushedConversations() })
    }
}

extension PushRegistration.Step {
    fileprivate var operation: PushOperation {
        switch self {
        case .list: .devices
        case .put(let device): .putDevice(device)
        case .drop(let id): .dropDevice(id)
        }
    }

    /// The devices an answer lists.
    fileprivate func devices(in body: [UInt8]) throws(ChatError) -> [PushDevice] {
        guard self == .list else { return [] }
        var devices: [PushDevice] = []
        var reader = try JSONReader(body)
        try reader.object { (name, value) throws(ChatError) in
            guard name == "devices" else { return try value.skip() }
            devices = try value.list("devices", limit: 1000) { (device) throws(ChatError) in
                try PushDevice(from: &device)
            }
        }
        return devices
    }
}

extension ClientCore {
    /// How long, in seconds, signing out waits for the server to hear that this device is reached no more.
    private static let farewell: Duration = .seconds(3)

    /// Takes up what waits in the inbox: kept in the store first, then gone from the inbox.
    func readPushInbox() async throws(ChatError) -> PushInbox.Contents {
        guard let inbox = pushInbox else { return PushInbox.Contents() }
        let (contents, names) = try inbox.read(for: user)
        if !contents.setAside.isEmpty {
            logger.warning("pushes can't be read", metadata: ["count": "\(contents.setAside.count)"])
        }
        guard !names.isEmpty else { return contents }
        let messages = contents.messages
        let news = try await store.write { try $0.note(messages) }
        inbox.remove(names)
        if !news.isEmpty { mailbox.post(.pushed) }
        return contents
    }

    /// Takes up what waits in the inbox, where nobody waits for what comes of it.
    func lookIntoPushInbox() async {
        do {
            _ = try await readPushInbox()
        } catch {
            logger.warning("the inbox of pushes can't be read", metadata: ["code": "\(error.code)"])
        }
    }

    /// Removes what waits in the inbox for a user who is signed out.
    func emptyPushInbox() {
        guard let inbox = pushInbox, let found = try? inbox.read(for: user) else { return }
        inbox.remove(found.names)
    }

    /// Ends pushes to this device.
    ///
    /// - Returns: why the server could not be told, if it could not.
    func endPush() async -> ChatError? {
        do {
            try await ask { .setPush(nil, $0) }
        } catch {
            return error
        }
        let states = push.sequence
        if push.current != .off {
            switch connection.current {
            case .rejected(let error): return error
            case nil, .idle: return ChatError(.unreachable, "the client is not connected")
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
                try? await Task.sleep(for: Self.farewell)
                return ChatError(.unreachable, "the server could not be told that this device is signed out")
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
