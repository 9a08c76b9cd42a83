import Foundation
import TestSupport

/// HAProxy as a child process, with the configuration of `Documentation/nodes.md` but for certificates.
///
/// The test must have the trait `needs(.haProxy)`.
final class HAProxy: Sendable {
    private let folder: TemporaryFolder
    private let process: ChildProcess
    let port: Int

    /// Starts HAProxy in front of servers, and waits until it gives requests to one.
    static func start(to servers: [RunningServer]) async throws -> HAProxy {
        let folder = try TemporaryFolder()
        let port = try RunningServer.freePort()
        let lines = servers.enumerated().map { "    server n\($0) 127.0.0.1:\($1.port)" }
        let configuration = """
            defaults
                mode http
                timeout connect 1s
                timeout client 2m
                timeout server 2m

            frontend chat
                bind 127.0.0.1:\(port)
                default_backend nodes

            backend nodes
                balance leastconn
                option httpchk GET /readyz
                option redispatch
                retry-on conn-failure
                default-server check inter 500ms fall 2 rise 2
                timeout tunnel 24h
            \(lines.joined(separator: "\n"))

            """
        let file = folder.url.appending(component: "haproxy.cfg")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let process = try ChildProcess(
            Requirement.haProxy.path(), ["-db", "-f", file.path], name: "haproxy", folder: folder.url)
        let proxy = HAProxy(folder, process, port)
        try await eventually("HAProxy forwards a request", within: 60) {
            if let code = process.end {
                throw ChildProcess.Failure(description: "HAProxy ended with \(code): \(process.errorText)")
            }
            return try? await API(server: proxy.url).call("GET", "/readyz").status == 200 ? true : nil
        }
        return proxy
    }

    private init(_ folder: TemporaryFolder, _ process: ChildProcess, _ port: Int) {
        self.folder = folder
        self.process = process
        self.port = port
    }

    private var url: URL { URL(string: "http://127.0.0.1:\(port)")! }
}
