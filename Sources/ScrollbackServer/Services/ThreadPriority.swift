import Foundation
import NIOPosix

/// Lowers the priority of the current thread, so that its work doesn't delay messages.
func lowerThreadPriority() {
    #if os(Linux)
        // On Linux, `setpriority` applies to the current thread.
        guard hasLoweredPriority.currentValue == nil else { return }
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10)
        hasLoweredPriority.currentValue = Marker()
    #endif
}

private final class Marker: Sendable {}
private let hasLoweredPriority = ThreadSpecificVariable<Marker>()
