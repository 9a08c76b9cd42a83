#if canImport(Darwin)
    import Dispatch
    import Foundation
    import Network

    /// What Apple's systems say by themselves: that there is a network again, that the app went to the background and came
    /// back.
    ///
    /// `@unchecked Sendable`: its parts are set once, and both may be used from any thread.
    final class SystemSigns: @unchecked Sendable {
        private let monitor = NWPathMonitor()
        private var observers: [any NSObjectProtocol] = []

        /// - Parameters:
        ///   - networkIsBack: told whenever a path to the network is there, or has changed.
        ///   - isActive: told whether the app is in the foreground.
        init(
            networkIsBack: @escaping @Sendable () -> Void, isActive: @escaping @Sendable (Bool) -> Void
        ) {
            monitor.pathUpdateHandler = { path in
                if path.status == .satisfied { networkIsBack() }
            }
            monitor.start(queue: DispatchQueue(label: "scrollback.network"))
            // By their names: UIKit is not there for every target, and an extension may not use its application.
            let signs: [(name: String, isActive: Bool)] = [
                ("UIApplicationDidEnterBackgroundNotification", false),
                ("UIApplicationWillEnterForegroundNotification", true),
                ("NSExtensionHostDidEnterBackgroundNotification", false),
                ("NSExtensionHostWillEnterForegroundNotification", true),
            ]
            observers = signs.map { sign in
                NotificationCenter.default.addObserver(
                    forName: Notification.Name(sign.name), object: nil, queue: nil
                ) { _ in isActive(sign.isActive) }
            }
        }

        deinit {
            monitor.cancel()
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
        }
    }
#endif
