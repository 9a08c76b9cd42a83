import Foundation
public import Scrollback
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import Synchronization

/// A push notification as a push service would deliver it to a device.
public struct ReceivedPush: Hashable, Sendable {
    /// The registration of the device that received the push.
    public let device: PushDevice
    /// The title of the notification.
    public let title: String?
    /// The text of the notification.
    public let text: String
    /// The payload that the app receives, in the format of APNs; `PushMessage(json:)` parses it.
    public let payload: String

    fileprivate init(_ notification: PushNotification) {
        device = notification.device
        title = notification.text.title
        text = notification.text.body
        let message = PushMessage(
            target: notification.target, kind: notification.replaces ? .recall : .message, link: notification.link)
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

/// A gateway for all push services that accepts and records every push.
final class RecordingPushGateway: PushGateway {
    private let received = Mutex<[(user: UserID, push: ReceivedPush)]>([])

    func check(_ credentials: RawJSON, for service: PushService) throws(ChatError) {}

    func send(_ notification: PushNotification, with credentials: RawJSON) async -> PushOutcome {
        let push = ReceivedPush(notification)
        received.withLock { $0.append((notification.target.receiver, push)) }
        return .sent
    }

    func pushes(to user: UserID) -> [ReceivedPush] {
        received.withLock { received in received.filter { $0.user == user }.map(\.push) }
    }
}

extension TestServer {
    /// Turns push notifications on or off; they are off by default.
    ///
    /// Turning them on configures all push services.
    public func setPush(_ isOn: Bool) async throws(ChatError) {
        if isOn { server.startPushing() }
        try await set { settings in
            settings.push.services = [:]
            guard isOn else { return }
            for service in PushService.allCases { settings.push.services[service] = RawJSON(known: "{}") }
        }
    }

    /// Waits until the push queue is empty, and returns the pushes to a user's devices, oldest first.
    ///
    /// The server sends no pushes to users with a client in the foreground, so call ``goOffline(_:)`` first.
    ///
    /// - Throws: `timeout` if the queue is not empty after about a minute; `cancelled` if the task is cancelled.
    public func pushes(to user: UserID) async throws(ChatError) -> [ReceivedPush] {
        do {
            for _ in 0..<30_000 {
                let (waiting, retries) = try server.engine.pendingPushes()
                if waiting + retries == 0 { return server.services.pushes(to: user) }
                try await Task.sleep(for: .milliseconds(2))
            }
        } catch {
            throw error as? ChatError ?? ChatError(.cancelled, "The task was cancelled.", cause: error)
        }
        throw ChatError(.timeout, "The push queue is not empty after a minute.")
    }
}
