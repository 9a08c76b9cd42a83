import Foundation
package import ScrollbackModel

/// What came of a push that an operator tried.
package struct PushTrial: Hashable, Sendable {
    package var device: Identifier
    package var service: PushService
    package var outcome: PushOutcome
}

extension Engine {
    /// Pushes a text to a user's devices, or to one of them, now and once, whatever they want and whoever is there: to see whether
    /// a service is set up.
    package func tryPush(
        to user: UserID, device: Identifier? = nil, by caller: Caller
    ) async throws(ChatError) -> [PushTrial] {
        guard caller.isAdmin else { throw ChatError(.forbidden, "trying pushes takes an administrator") }
        guard let gateway else { throw ChatError(.featureOff, "this server has no way to push services") }
        let devices: [PushDeviceRow]
        let badge: Int64
        do {
            (devices, badge) = try store.read { store in
                let devices = try store.pushDevices(of: user).filter { device == nil || $0.device.id == device }
                // As any push sets it: trying the way changes nothing that the user sees.
                let caller = Caller(user: user)
                return (devices, try totals(of: involvements(of: user, in: store), for: caller, in: store).unread)
            }
        } catch { throw ChatError(wrapping: error) }
        guard !devices.isEmpty else {
            let name = device.map { " called \($0.text)" } ?? ""
            throw .invalidParameter(
                "device", "must be there: \(user) has registered none\(name), as apps do when they start")
        }
        let settings = self.settings.push
        var trials: [PushTrial] = []
        for row in devices {
            let service = row.device.service
            var trial = PushTrial(device: row.device.id, service: service, outcome: .sent)
            if let credentials = settings.credentials(for: service) {
                let notification = trialNotification(to: row, badge: badge, by: caller)
                trial.outcome = await gateway.send(notification, with: credentials)
            } else {
                trial.outcome = .refused(
                    "the service is not set up: PUT /v1/settings, push.services.\(service.rawValue)")
            }
            trials.append(trial)
        }
        return trials
    }

    private func trialNotification(to row: PushDeviceRow, badge: Int64, by caller: Caller) -> PushNotification {
        let now = clock()
        let id = UUID()
        let place = PushPlace(
            conversation: .direct(caller.user), seq: nil, epoch: nil, message: MessageID(id), sender: caller.user,
            type: .text, receiver: row.user)
        return PushNotification(
            id: id, device: row.device, text: PushText(title: "Scrollback", body: "A push to try the way."),
            badge: badge, place: place, expiresAt: now + 600)
    }
}
