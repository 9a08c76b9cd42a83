package import ScrollbackModel

/// The state machine for this device's push registration.
///
/// The device stores the desired registration and sends it until the server acknowledges it. On each connection the
/// client verifies once that the server still has it. The server may have been restored from a backup, evicted the
/// device, or removed it because a push service rejected it.
package struct PushRegistration: Sendable {
    /// A request to the server; only one is in flight at a time.
    package enum Step: Hashable, Sendable {
        /// Lists the registered devices.
        case list
        case put(PushDevice)
        /// Removes the device with this ID.
        case drop(Identifier)
    }

    /// The desired registration; `nil` for none.
    package private(set) var wanted: PushDevice?
    /// Whether the server has acknowledged the desired registration, as far as the client knows.
    package private(set) var isAcknowledged: Bool
    /// The permanent error with which the server rejected the registration.
    package private(set) var refusal: ChatError?
    private let id: Identifier
    private var isConnected = false
    /// Whether the registration was verified on this connection.
    private var isChecked = false
    private var inFlight: Step?
    /// Whether the client waits after a temporary error.
    private var isWaiting = false

    /// Creates a state from stored values.
    ///
    /// - Parameters:
    ///   - id: The ID of the device.
    ///   - wanted: The stored registration.
    ///   - isAcknowledged: The stored acknowledgement state.
    package init(of id: Identifier, wanted: PushDevice? = nil, isAcknowledged: Bool = true) {
        self.id = id
        self.wanted = wanted
        self.isAcknowledged = isAcknowledged
    }

    /// Sets the desired registration; `nil` removes it.
    ///
    /// Even an unchanged registration is sent again, because tokens can change their owner.
    package mutating func set(_ device: PushDevice?) {
        let isNothing = device == nil && wanted == nil && isAcknowledged
        wanted = device
        isAcknowledged = isNothing
        refusal = nil
        isWaiting = false
    }

    package mutating func connected() {
        isConnected = true
        isChecked = false
        isWaiting = false
        inFlight = nil
        refusal = nil
    }

    package mutating func disconnected() {
        isConnected = false
        inFlight = nil
    }

    /// Retries after a temporary error.
    package mutating func tick() {
        isWaiting = false
    }

    /// Returns the next request to the server, if any.
    package mutating func next() -> Step? {
        guard isConnected, inFlight == nil, !isWaiting, refusal == nil else { return nil }
        if !isAcknowledged {
            inFlight = wanted.map { .put($0) } ?? .drop(id)
        } else if wanted != nil, !isChecked {
            inFlight = .list
        }
        return inFlight
    }

    /// Handles a successful request.
    ///
    /// - Parameter devices: The registered devices, if the request listed them.
    package mutating func answered(_ step: Step, devices: [PushDevice] = []) {
        guard inFlight == step else { return }
        inFlight = nil
        switch step {
        case .list:
            isChecked = true
            if let wanted, !devices.contains(wanted) { isAcknowledged = false }
        case .put(let device):
            guard device == wanted else { return }
            isAcknowledged = true
            isChecked = true
        case .drop:
            if wanted == nil { isAcknowledged = true }
        }
    }

    /// Handles a failed request.
    package mutating func failed(_ step: Step, _ error: ChatError) {
        guard inFlight == step else { return }
        inFlight = nil
        guard !error.isTemporary else { return isWaiting = true }
        // An error for an outdated registration does not affect the new one.
        switch step {
        case .put(let device): if device == wanted { refusal = error }
        case .drop: if wanted == nil { refusal = error }
        case .list: refusal = error
        }
    }
}
