import Foundation
public import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A push as a service would have brought it to a device.
public struct WorldPush: Hashable, Sendable {
    /// Where it went, as the device registered.
    public let device: PushDevice
    /// The title of the notification.
    public let title: String?
    /// Its text.
    public let text: String
    /// What the app is handed, with the members of a payload of APNs: `PushMessage(json:)` reads it.
    public let payload: String

    fileprivate init(_ notification: PushNotification) {
        device = notification.device
        title = notification.text.title
        text = notification.text.body
        let message = PushMessage(
            place: notification.place, kind: notification.replaces ? .recall : .message, link: notification.link)
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            writer.key("aps")
            writer.object { writer in
                writer.key("alert")
                writer.object { writer in
                    writer.field("title", notification.text.title)
                    writer.field("body", notification.text.body)
                }
                writer.field("badge", notification.badge)
            }
            writer.key(PushMessage.key)
            writer.object { message.writeMembers(to: &$0) }
            writer.field(PushMessage.dataKey, notification.data)
        }
        payload = writer.text
    }
}

/// Every push service at once: it takes everything and keeps it.
final class WorldServices: PushGateway {
    private let taken = Mutex<[(user: UserID, push: WorldPush)]>([])

    func check(_ credentials: RawJSON, for service: PushService) throws(ChatError) {}

    func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome {
        let push = WorldPush(notification)
        taken.withLock { $0.append((notification.place.receiver, push)) }
        return .sent
    }

    func pushes(to user: UserID) -> [WorldPush] {
        taken.withLock { taken in taken.filter { $0.user == user }.map(\.push) }
    }
}

extension ChatWorld {
    /// Switches pushes on, as an operator does who has set up every service, or off, as they are in the beginning.
    public func setPush(_ isOn: Bool) async throws(ChatError) {
        if isOn { server.startPushing() }
        try await set { settings in
            settings.push.services = [:]
            guard isOn else { return }
            for service in PushService.allCases { settings.push.services[service] = RawJSON(known: "{}") }
        }
    }

    /// What was pushed to a user's devices, oldest first; it waits until all that is to be pushed was.
    ///
    /// Whoever has a client in the foreground is pushed nothing: ``goOffline(_:)`` first.
    ///
    /// - Throws: `timeout` where something still waits after a minute.
    public func pushes(to user: UserID) async throws(ChatError) -> [WorldPush] {
        do {
            for _ in 0..<30_000 {
                let (waiting, retries) = try server.engine.waitingPushes()
                if waiting + retries == 0 { return server.services.pushes(to: user) }
                try await Task.sleep(for: .milliseconds(2))
            }
        } catch {
            throw error as? ChatError ?? ChatError(.cancelled, "the task that asked was cancelled", cause: error)
        }
        throw ChatError(.timeout, "something still waits to be pushed")
    }
}
