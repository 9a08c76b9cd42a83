import Foundation
import ScrollbackModel

/// The number of descriptors that the process may open: sockets and files.
package enum DescriptorLimit {
    /// The number of descriptors that a process uses at most, even if the system allows more.
    private static let largest = 1 << 20

    /// The number of descriptors that the process can open after `raise()`, or `nil` if the system reports no limit.
    package static var maximum: Int? {
        guard let limit = get() else { return nil }
        return Int(min(limit.rlim_max, rlim_t(largest)))
    }

    /// Raises the soft limit to the hard limit.
    ///
    /// - Returns: The limit in effect.
    @discardableResult
    static func raise() -> Int {
        guard var limit = get() else { return 1024 }
        let soft = limit.rlim_cur
        // macOS accepts no more than 10,240 descriptors, whatever its hard limit is.
        for wanted in [largest, 10_240] {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            if limit.rlim_cur > soft, set(&limit) { return Int(limit.rlim_cur) }
        }
        return Int(min(soft, rlim_t(largest)))
    }

    /// Returns the number of connections that leave enough descriptors for the store, files and outgoing connections.
    package static func connections(of descriptors: Int) -> Int {
        max(16, descriptors - 64 - descriptors / 8)
    }

    /// Checks a configured number of connections.
    ///
    /// - Returns: The maximum number of connections.
    /// - Throws: `invalid-parameter` if the process can't open so many descriptors.
    static func connections(configured: Int?, of descriptors: Int) throws(ChatError) -> Int {
        let most = connections(of: descriptors)
        guard let configured else { return most }
        guard configured <= most else {
            throw .invalidParameter(
                "connections-max",
                "must be at most \(most), because the process can open \(descriptors) files and sockets. "
                    + "Raise this number with LimitNOFILE in the systemd unit, or with ulimit -n.", limit: most)
        }
        return configured
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    private static func get() -> rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }

    private static func set(_ limit: inout rlimit) -> Bool { setrlimit(resource, &limit) == 0 }
}
