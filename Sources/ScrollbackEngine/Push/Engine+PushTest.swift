import Foundation
package import ScrollbackModel

/// The result of a test push.
package struct PushTestResult: Hashable, Sendable {
    package var device: Identifier
    package var service: PushService
    package var outcome: PushOutcome
}

extension Engine {
    /// Sends a test push to a user's devices or one of them, regardless of preferences and presence.
    ///
    /// Administrators use it to verify the configuration of a push service. A test push is not retried.
    ///
    /// - Throws: `forbidden`, `feature-off` without a push gateway, and `invalid-parameter` if there is no such device.
    package func sendTestPush(
        to user: UserID, device: Identifier? = nil, by caller: Caller
    ) async throws(ChatError) -> [PushTestResult] {
        guard caller.isAdmin else { throw ChatError(.forbidden, "Test pushes require an administrator token.") }
        guard let gateway else { throw ChatError(.featureOff, "Pushes are not available on this server.") }
        let devices: [PushDeviceRow]
        let badge: Int64
        do {
            (devices, badge) = try store.read { store in
                let devices = try store.pushDevices(of: user).filter { device == nil || $0.device.id == device }
                // The real badge count, so that the test changes nothing that the user sees.
                let caller = Caller(user: user)
                return (
                    devices, try totals(of: membershipSummaries(of: user, in: store), for: caller, in: store).unread
                )
            }
        } catch { throw ChatError(wrapping: error) }
        guard !devices.isEmpty else {
            let name = device.map { " with the ID \($0.text)" } ?? ""
            throw .invalidParameter(
                "device", "must be registered: \(user) has no device\(name); apps register devices when they start")
        }
        let settings = self.settings.push
        var results: [PushTestResult] = []
        for row in devices {
            let service = row.device.service
            var result = PushTestResult(device: row.device.id, service: service, outcome: .sent)
            if let credentials = settings.credentials(for: service) {
                let notification = testNotification(to: row, badge: badge, by: caller)
                result.outcome = await gateway.send(notification, with: credentials)
            } else {
                result.outcome = .refused(
                    "The push service is not configured. Set push.services.\(service.rawValue) with PUT /v1/settings.")
            }
            results.append(result)
        }
        return results
    }

    private func testNotification(to row: PushDeviceRow, badge: Int64, by caller: Caller) -> PushNotification {
        let now = clock()
        let id = UUID()
        let target = PushTarget(
            conversation: .direct(caller.user), seq: nil, epoch: nil, message: MessageID(id), sender: caller.user,
            type: .text, receiver: row.user)
        return PushNotification(
            id: id, device: row.device, text: PushText(title: "Scrollback", body: "This is a test push."),
            badge: badge, target: target, expiresAt: now + 600)
    }
}
