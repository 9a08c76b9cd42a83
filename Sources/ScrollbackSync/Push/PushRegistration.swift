package import ScrollbackModel

/// Whether this device is to be reached by push, and what of that the server knows.
///
/// What the user wants is kept on the device and told until the server has taken it. On each connection the server is asked
/// once whether it has it still: it may have been restored from a backup, have made room for another device, or believed a
/// service that the device is gone.
package struct PushRegistration: Sendable {
    /// What the server is to be asked; one at a time.
    package enum Step: Hashable, Sendable {
        /// Which devices it has.
        case list
        case put(PushDevice)
        /// To forget the device of that name.
        case drop(Identifier)
    }

    /// The device as the server is to have it; nil where it is to have none.
    package private(set) var wanted: PushDevice?
    /// Whether the server has taken it, as far as is known.
    package private(set) var isTold: Bool
    /// Why the server will not take it, by its own word.
    package private(set) var refusal: ChatError?
    private let id: Identifier
    private var isConnected = false
    /// Whether this connection has shown what the server has.
    private var isChecked = false
    private var inFlight: Step?
    /// Whether the server could not answer for now.
    private var isWaiting = false

    /// - Parameters:
    ///   - id: what the device is called.
    ///   - wanted: as it was kept.
    ///   - isTold: as it was kept.
    package init(of id: Identifier, wanted: PushDevice? = nil, isTold: Bool = true) {
        self.id = id
        self.wanted = wanted
        self.isTold = isTold
    }

    /// The user wants the device to be reached, or (nil) not any more.
    ///
    /// What is wanted already is told again: tokens change hands.
    package mutating func set(_ device: PushDevice?) {
        let isNothing = device == nil && wanted == nil && isTold
        wanted = device
        isTold = isNothing
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

    /// Time has passed: what the server could not take for now is told again.
    package mutating func tick() {
        isWaiting = false
    }

    /// What to ask the server now, if anything.
    package mutating func next() -> Step? {
        guard isConnected, inFlight == nil, !isWaiting, refusal == nil else { return nil }
        if !isTold {
            inFlight = wanted.map { .put($0) } ?? .drop(id)
        } else if wanted != nil, !isChecked {
            inFlight = .list
        }
        return inFlight
    }

    /// The server has done what it was asked.
    ///
    /// - Parameter devices: those it has, where it was asked for them.
    package mutating func answered(_ step: Step, devices: [PushDevice] = []) {
        guard inFlight == step else { return }
        inFlight = nil
        switch step {
        case .list:
            isChecked = true
            if let wanted, !devices.contains(wanted) { isTold = false }
        case .put(let device):
            guard device == wanted else { return }
            isTold = true
            isChecked = true
        case .drop:
            if wanted == nil { isTold = true }
        }
    }

    /// The server has not done it.
    package mutating func failed(_ step: Step, _ error: ChatError) {
        guard inFlight == step else { return }
        inFlight = nil
        guard !error.isTemporary else { return isWaiting = true }
        // What was set meanwhile may be taken.
        switch step {
        case .put(let device): if device == wanted { refusal = error }
        case .drop: if wanted == nil { refusal = error }
        case .list: refusal = error
        }
    }
}
