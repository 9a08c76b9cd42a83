import Dispatch
import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// Signals between nodes about connections, presence and typing.
extension Engine {
    /// How long a connection must exist before a connection of the same device to another node closes it.
    ///
    /// A signal can arrive late, and must not close the connection that the device opened after it.
    private static let replacementDelay: TimeInterval = 10
    /// The maximum number of users who blocked a typing user up to which other nodes show the typing indicator.
    static let maximumExcluded = 1_000

    /// The time of a monotonic clock, in seconds.
    private static var uptime: Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

    /// Informs the other nodes whether a user is connected to this one.
    func connectionsChanged(of user: UserID) {
        node?.withDirectory { directory, send in
            let connected =
                hub.connections(of: user).isEmpty && !presenceTracker.isOnline(user)
                ? nil
                : ConnectedUser(isInForeground: !hub.isAway(user), isOnline: presenceTracker.isOnline(user))
            if let message = directory.set(user, connected) { send(message) }
        }
    }

    /// Informs the other nodes that a device opened a connection.
    func connectionOpened(by user: UserID, _ device: String) {
        node?.send(.opened(user, device: device))
        connectionsChanged(of: user)
    }

    /// Whether the user has no connection in the foreground to any node.
    func isAway(_ user: UserID) -> Bool {
        hub.isAway(user) && node?.withDirectory { directory, _ in directory.isInForegroundElsewhere(user) } != true
    }

    /// Whether the user is online on another node.
    func isOnlineElsewhere(_ user: UserID) -> Bool {
        node?.withDirectory { directory, _ in directory.isOnlineElsewhere(user) } ?? false
    }

    /// Announces this node to the others, and forgets nodes that are silent.
    ///
    /// Call this every second.
    package func announceNode() {
        let gone = node?.withDirectory { directory, send in
            send(directory.beat)
            return directory.removeSilentNodes(now: Self.uptime)
        }
        if let info = nodeInfo { node?.send(.about(info)) }
        presenceChangedElsewhere(gone ?? [])
    }

    /// Handles a signal from another node.
    func take(_ signal: NodeSignal) {
        switch signal {
        case .directory(let message):
            let changed = node?.withDirectory { directory, send in
                let (replies, changed) = directory.receive(message, now: Self.uptime)
                for reply in replies { send(reply) }
                return changed
            }
            presenceChangedElsewhere(changed ?? [])
        case .typing(let id, let user, let isTyping, let excluded):
            _ = hub.sendTypingIndicator(in: id, of: user, isTyping: isTyping, except: excluded, now: clock())
        case .blockChanged(let user, let other): notifyPresence(between: user, and: other)
        case .opened(let user, let device):
            let now = clock()
            for session in sessions(of: user, device: device) {
                guard let entry = session.entry, now.timeIntervalSince(entry.since) > Self.replacementDelay else {
                    continue
                }
                session.close(.replaced)
            }
        case .close(let user, let device): closeSessions(of: user, device: device)
        case .about(let info): node?.withDirectory { directory, _ in directory.receive(info, now: Self.uptime) }
        case .drain(let id): if id == nodeInfo?.id { node?.beginDrain() }
        case .left(let id):
            presenceChangedElsewhere(node?.withDirectory { directory, _ in directory.remove(id) } ?? [])
        }
    }

    /// Shows two users each other's presence again, on all nodes, after one has blocked or unblocked the other.
    func blockChanged(between user: UserID, and other: UserID) {
        notifyPresence(between: user, and: other)
        node?.send(.blockChanged(user, other))
    }

    /// Notifies watchers of users who may have gone online or offline on another node.
    ///
    /// This happens with the next tick, because it reads from the store.
    private func presenceChangedElsewhere(_ users: [UserID]) {
        for user in users {
            presenceTracker.enqueueNotification { [self] in
                guard settings.people.presence, !presenceTracker.isOnline(user),
                    !presenceTracker.watchers(of: user).isEmpty
                else { return }
                let isOnline = isOnlineElsewhere(user)
                let lastSeen = isOnline ? nil : (try? store.read { try $0.lastSeen(of: user) })?.flatMap(\.self)
                notifyWatchers(Presence(isOnline: isOnline, lastSeen: lastSeen), of: user)
            }
        }
    }

    /// Returns the sessions of a user, or those of one device.
    private func sessions(of user: UserID, device: String?) -> [Session] {
        hub.connections(of: user).compactMap { $0 as? Session }
            .filter { session in device.map { $0 == session.entry?.device } ?? true }
    }

    /// Closes the connections of a user to this node, or those of one device.
    ///
    /// - Returns: The number of closed connections.
    @discardableResult
    func closeSessions(of user: UserID, device: String?) -> Int {
        let sessions = sessions(of: user, device: device)
        for session in sessions { session.close(.restarting, "An administrator closed the connection. Reconnect.") }
        return sessions.count
    }
}
