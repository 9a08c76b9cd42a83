import Foundation
import Logging
import ScrollbackEngine
package import ScrollbackModel
import ScrollbackPush
import Synchronization

/// Credentials of push services in a file that the operator keeps, taken over anew when it changes.
///
/// What is wrong is told by file and member, and never by what stands there.
package final class PushCredentialsFile: Sendable {
    private let path: String
    private let gateway: any PushGateway
    private let state = Mutex<(data: Data?, fault: String?)>((nil, nil))

    /// Some service accounts and keys take a few KiB.
    private static let mostBytes = 1 << 20

    init(_ path: String, for gateway: any PushGateway) {
        self.path = path
        self.gateway = gateway
    }

    /// Looks at a file as a server would that starts with it.
    ///
    /// - Returns: the services that it sets up.
    /// - Throws: `invalid-parameter`.
    package static func check(_ path: String) throws(ChatError) -> [PushService] {
        // Nothing is sent.
        let services = PushServices(over: HTTPPushTransport(agent: "scrollback/\(Server.version)"))
        let file = PushCredentialsFile(path, for: services)
        return try file.services(in: file.data()).keys.sorted { $0.rawValue < $1.rawValue }
    }

    private func data() throws(ChatError) -> Data {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw fault("can't be read: name a file that this user can read")
        }
        guard data.count <= Self.mostBytes else { throw fault("has more than \(Self.mostBytes) bytes") }
        return data
    }

    private func services(in data: Data) throws(ChatError) -> [PushService: RawJSON] {
        do throws(ChatError) {
            let services = try PushSettings.services(inFile: Array(data))
            for (service, credentials) in services { try gateway.check(credentials, for: service) }
            return services
        } catch {
            throw fault("can't be used: \(error.message)")
        }
    }

    private func fault(_ reason: String) -> ChatError {
        ChatError(.invalidParameter, "push-credentials: \(path) \(reason)", parameter: "push-credentials")
    }

    /// Hands over what the file says, if its bytes are others than before.
    ///
    /// - Throws: `invalid-parameter`; once for the same bytes.
    func load(into engine: Engine, logger: Logger) throws(ChatError) {
        let data: Data
        do {
            data = try self.data()
        } catch {
            // When it is there again it is looked at, be it what it was.
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
            "credentials of push services are taken from a file",
            metadata: ["file": "\(path)", "services": "\(names.isEmpty ? "none" : names)"])
    }

    /// Takes over a file that changed; of one that is no good what was there before stays, and it is logged once.
    func reloadIfChanged(_ engine: Engine, logger: Logger) {
        do {
            try load(into: engine, logger: logger)
        } catch {
            let isNews = state.withLock { state in
                defer { state.fault = error.message }
                return state.fault != error.message
            }
            guard isNews else { return }
            logger.error(
                "the push credentials changed and can't be used: what was there before stays",
                metadata: ["reason": "\(error.message)"])
        }
    }
}
