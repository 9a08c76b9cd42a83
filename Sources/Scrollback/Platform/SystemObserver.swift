#if canImport(Darwin)
    import Dispatch
    import Foundation
    import Network

    /// Observes changes of the network and of the app's foreground state on Apple platforms.
    ///
    /// `@unchecked Sendable`: both properties are set once, and both may be used from any thread.
    final class SystemObserver: @unchecked Sendable {
        private let monitor = NWPathMonitor()
        private var observers: [any NSObjectProtocol] = []

        /// - Parameters:
        ///   - networkBecameAvailable: Called whenever a network path becomes available or changes.
        ///   - isActive: Called with whether the app is in the foreground.
        init(
            networkBecameAvailable: @escaping @Sendable () -> Void, isActive: @escaping @Sendable (Bool) -> Void
        ) {
            monitor.pathUpdateHandler = { path in
                if path.status == .satisfied { networkBecameAvailable() }
            }
            monitor.start(queue: DispatchQueue(label: "scrollback.network"))
            // Use the names as strings: UIKit is not available for every target, and an extension can't use
            // `UIApplication`.
            let notifications: [(name: String, isActive: Bool)] = [
                ("UIApplicationDidEnterBackgroundNotification", false),
                ("UIApplicationWillEnterForegroundNotification", true),
                ("NSExtensionHostDidEnterBackgroundNotification", false),
                ("NSExtensionHostWillEnterForegroundNotification", true),
            ]
            observers = notifications.map { notification in
                NotificationCenter.default.addObserver(
                    forName: Notification.Name(notification.name), object: nil, queue: nil
                ) { _ in isActive(notification.isActive) }
            }
        }

        deinit {
            monitor.cancel()
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
        }
    }
#endif
