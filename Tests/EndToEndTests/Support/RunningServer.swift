import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

/// The real `scrollback serve` as a child process with a temporary data directory, which is removed with the object.
final class RunningServer: Sendable {
    /// The folder that contains the data directory and other files of the test.
    var folder: URL { temporary.url }
    private let temporary: TemporaryFolder
    let data: URL
    private let arguments: [String]
    private let shell: String?
    private let state: Mutex<State>

    private struct State {
        var process: ChildProcess?
        var starts = 0
        var port: Int
        var isSecure = false
    }

    /// The arguments of a server without rate limits, for tests that send more than a user would.
    static let withoutLimits = ["send", "write", "read", "lookup", "search"].flatMap { ["--\($0)-rate", "0"] }

    /// Starts a server and waits until it listens.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of `serve`, in addition to the address and the data directory.
    ///   - shell: Commands of `sh` that run in the process before it becomes the server, such as `ulimit`.
    ///   - folder: A folder that the test prepared, or `nil` for a new one.
    static func start(
        _ arguments: [String] = withoutLimits, shell: String? = nil, folder: TemporaryFolder? = nil
    ) async throws -> RunningServer {
        let server = try RunningServer(arguments, shell: shell, folder: folder)
        try await server.start()
        return server
    }

    private init(_ arguments: [String], shell: String?, folder: TemporaryFolder?) throws {
        temporary = try folder ?? TemporaryFolder()
        data = temporary.url.appending(component: "data")
        self.arguments = arguments
        self.shell = shell
        state = Mutex(State(port: try Self.freePort()))
    }

    /// The ports below the ephemeral range of the system (32,768 and up). An ephemeral port that another test's
    /// connection uses would keep a restarted server from listening.
    private static let ports = 10_000..<32_000
    private static let givenPorts = Mutex<Set<Int>>([])

    static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: ports)
            guard givenPorts.withLock({ $0.insert(port).inserted }), isFree(port) else { continue }
            return port
        }
        throw ChildProcess.Failure(description: "No port is free in \(ports).")
    }

    private static func isFree(_ port: Int) -> Bool {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    deinit {
        kill()
    }

    // MARK: Process

    /// Starts the server again with the same directory and port.
    func start() async throws {
        let (port, number) = state.withLock { state in
            state.starts += 1
            return (state.port, state.starts)
        }
        let process = try Self.run(
            // A busy machine must not stop searches.
            ["serve", "--port", String(port), "--data", data.path, "--search-seconds", "3600"] + arguments,
            shell: shell, name: "server-\(number)", folder: folder)
        let address = try await eventually("the server listens", within: 60) {
            if let code = process.end {
                throw ChildProcess.Failure(description: "The server ended with \(code): \(process.errorText)")
            }
            let line = process.outputText.split(separator: "\n").first { $0.hasPrefix("listening on ") }
            return line.flatMap { URL(string: String($0.dropFirst("listening on ".count))) }
        }
        state.withLock { state in
            state.process = process
            state.port = address.port ?? 0
            state.isSecure = address.scheme == "https"
        }
    }

    /// Sends SIGKILL to the server and waits until it has ended.
    func kill() {
        state.withLock { $0.process }?.kill()
    }

    /// Whether the process has not ended.
    var isRunning: Bool { state.withLock { $0.process }.map { $0.end == nil } ?? false }

    func signal(_ number: Int32) {
        state.withLock { $0.process }?.signal(number)
    }

    /// Sends SIGTERM to the server and waits until it has ended.
    ///
    /// - Returns: The exit code.
    @discardableResult
    func terminate() async throws -> Int32 {
        signal(SIGTERM)
        return try await waitForEnd()
    }

    func waitForEnd() async throws -> Int32 {
        guard let process = state.withLock({ $0.process }) else { return 0 }
        return try await process.waitForEnd()
    }

    // MARK: Address and log

    var pid: pid_t { state.withLock { $0.process?.pid } ?? 0 }
    var port: Int { state.withLock { $0.port } }
    var url: URL {
        let (port, scheme) = state.withLock { ($0.port, $0.isSecure ? "https" : "http") }
        // The certificates in tests are issued to the name, not to the address.
        return URL(string: "\(scheme)://\(scheme == "https" ? "localhost" : "127.0.0.1"):\(port)")!
    }

    /// The log since the last start.
    var log: String { state.withLock { $0.process }?.errorText ?? "" }

    /// The log of each start.
    var logs: [String] {
        (0..<state.withLock(\.starts)).compactMap { number in
            try? String(contentsOf: folder.appending(component: "server-\(number + 1).err"), encoding: .utf8)
        }
    }

    // MARK: Tokens

    /// Returns a token signed with the data directory's secret, issued at any time.
    func token(
        _ user: UserID, isAdmin: Bool = false, lifetime: TimeInterval? = 3600, madeAt date: Date = Date()
    ) async throws -> String {
        try await TokenService(directory: data, clock: { date }).token(for: user, isAdmin: isAdmin, lifetime: lifetime)
    }

    /// Returns a token with scopes, signed with the data directory's secret.
    func token(_ user: UserID, _ scopes: Scopes) async throws -> String {
        try await TokenService(directory: data).token(for: user, scopes: scopes, lifetime: 3600)
    }

    /// Returns the HTTP client of a user.
    func api(_ user: UserID, isAdmin: Bool = false) async throws -> API {
        API(server: url, token: try await token(user, isAdmin: isAdmin))
    }

    func admin() async throws -> API { try await api("admin", isAdmin: true) }

    /// Returns the value of a metric.
    func metric(_ name: String) async throws -> Int {
        let text = try await admin().call("GET", "/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return try #require(line.flatMap { Double($0.dropFirst(name.count + 1)) }.map { Int($0) }, "no metric \(name)")
    }

    // MARK: Command line

    /// Runs `scrollback` and waits until it has ended.
    static func command(
        _ arguments: [String], within seconds: Double = 120
    ) async throws -> (code: Int32, output: String, errors: String) {
        let folder = try TemporaryFolder()
        let process = try run(arguments, name: "command", folder: folder.url)
        let code = try await process.waitForEnd(within: seconds)
        return (code, process.outputText, process.errorText)
    }

    /// A value of `shell` with which file permissions apply to `scrollback` even if the administrator runs the tests.
    static let underPermissions =
        geteuid() == 0 ? #"exec setpriv --bounding-set=-dac_override,-dac_read_search "$0" "$@""# : ":"

    /// Starts `scrollback` and writes its output to files in `folder`.
    static func run(
        _ arguments: [String], shell: String? = nil, name: String, folder: URL
    ) throws -> ChildProcess {
        let program = try program(named: "scrollback")
        guard let shell else { return try ChildProcess(program, arguments, name: name, folder: folder) }
        return try ChildProcess(
            "/bin/sh", ["-c", "\(shell); exec \"$0\" \"$@\"", program] + arguments, name: name, folder: folder)
    }

    /// Returns the path of a built program, beside the tests or in the package's build folder.
    ///
    /// `SCROLLBACK_BINARY` is the path of another `scrollback`, such as one of an earlier commit.
    static func program(named name: String) throws(ChildProcess.Failure) -> String {
        if name == "scrollback", let path = ProcessInfo.processInfo.environment["SCROLLBACK_BINARY"] { return path }
        let own = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let folders =
            [own, Bundle.main.bundleURL, Bundle.main.bundleURL.deletingLastPathComponent()]
            + [package.appending(path: ".build/debug")]
        let candidates = folders.map { $0.appending(component: name).path }
        if let found = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) {
            return found
        }
        throw ChildProcess.Failure(
            description: "The program \(name) is missing at all of \(candidates). Run `swift build --product \(name)`.")
    }
}
