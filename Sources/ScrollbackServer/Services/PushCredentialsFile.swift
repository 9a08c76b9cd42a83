import Foundation
import Logging
import ScrollbackEngine
package import ScrollbackModel
import ScrollbackPush
import Synchronization

/// A file with credentials of push services, reloaded when it changes.
///
/// Errors name the file and the JSON member, and never contain a secret.
package final class PushCredentialsFile: Sendable {
    private let path: String
    private let gateway: any PushGateway
    private let state = Mutex<(data: Data?, fault: String?)>((nil, nil))

    /// The maximum file size in bytes.
    ///
    /// Some service accounts and keys have a few KiB.
    private static let maximumBytes = 1 << 20

    init(_ path: String, for gateway: any PushGateway) {
        self.path = path
        self.gateway = gateway
    }

    /// Validates a file in the same way as a server start.
    ///
    /// - Returns: The push services that the file configures.
    /// - Throws: `invalid-parameter` if the file can't be read or is invalid.
    package static func check(_ path: String) throws(ChatError) -> [PushService] {
        // Validation sends no requests.
        let services = PushServices(over: HTTPPushTransport(agent: "scrollback/\(Server.version)"))
        let file = PushCredentialsFile(path, for: services)
        return try file.services(in: file.data()).keys.sorted { $0.rawValue < $1.rawValue }
    }

    private func data() throws(ChatError) -> Data {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw fault("can't be read. Use a file that this user can read.")
        }
        guard data.count <= Self.maximumBytes else { throw fault("has more than \(Self.maximumBytes) bytes.") }
        return data
    }

    private func services(in data: Data) throws(ChatError) -> [PushService: RawJSON] {
        do throws(ChatError) {
            let services = try PushSettings.services(inFile: Array(data))
            for (service, credentials) in services { try gateway.check(credentials, for: service) }
            return services
        } catch {
            throw fault("is invalid: \(error.message)")
        }
    }

    private func fault(_ reason: String) -> ChatError {
        ChatError(.invalidParameter, "The push credentials file \(path) \(reason)", parameter: "push-credentials")
    }

    /// Loads the credentials into the engine if the file's content changed.
    ///
    /// - Throws: `invalid-parameter` if the file is invalid, once for the same content.
    func load(into engine: Engine, logger: Logger) throws(ChatError) {
        let data: Data
        do {
            data = try self.data()
        } catch {
            // Once the file is readable again, load it even if its content did not change.
            state.withLock { $0.data = nil }
            throw error
        }
        let isNew = state.withLock { state in
            defer { state.data = data }
            return state.data != data
        }
        guard isNew else { return }
        let services = try self.services(in: data)
        engine.configurePush(services)
        state.withLock { $0.fault = nil }
        let names = services.keys.map(\.rawValue).sorted().joined(separator: ", ")
        logger.notice(
            "Loaded push credentials.",
            metadata: ["file": "\(path)", "services": "\(names.isEmpty ? "none" : names)"])
    }

    /// Reloads the file if it changed.
    ///
    /// If it is invalid, logs the error once and keeps the previous credentials.
    func reloadIfChanged(_ engine: Engine, logger: Logger) {
        do {
            try load(into: engine, logger: logger)
        } catch {
            let hasChanged = state.withLock { state in
                defer { state.fault = error.message }
                return state.fault != error.message
            }
            guard hasChanged else { return }
            logger.error(
                "Can't load the changed push credentials. The server keeps using the previous ones.",
                metadata: ["reason": "\(error.message)"])
        }
    }
}
