import Foundation
import Synchronization
import TestSupport

/// A child process that writes its output to files.
///
/// It is killed by its process ID when the object is deallocated and when the test run ends.
final class ChildProcess: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let pid: pid_t
    let output: URL
    let errors: URL
    private let status = Mutex<Int32?>(nil)
    /// The write end of the child's standard input, if it has one.
    private let input: Int32?

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - folder: The folder for the files `NAME.out` and `NAME.err`.
    ///   - hasInput: Whether standard input stays open for the lifetime of this object. Some programs end when it
    ///     closes.
    init(
        _ program: String, _ arguments: [String], name: String, folder: URL, hasInput: Bool = false
    ) throws {
        output = folder.appending(component: "\(name).out")
        errors = folder.appending(component: "\(name).err")
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var ends: [Int32] = [-1, -1]
        if hasInput, pipe(&ends) == 0 {
            posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        input = ends[1] >= 0 ? ends[1] : nil
        posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // The child gets none of the tests' sockets: a copy there would keep a connection open that the test has
        // closed. Closing a descriptor that is not open is no error.
        for descriptor in 3...Self.highestDescriptor + 100 {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let failure = posix_spawnp(&pid, program, &actions, nil, &words, &variables)
        if ends[0] >= 0 { close(ends[0]) }
        guard failure == 0 else {
            throw Failure(description: "The test can't start \(program): \(String(cString: strerror(failure))).")
        }
        self.pid = pid
        Self.remember(pid)
    }

    /// The highest file descriptor that is open in this process.
    private static var highestDescriptor: Int32 {
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")
        return open?.compactMap { Int32($0) }.max() ?? 1024
    }

    deinit {
        if end == nil { kill() }
        if let input { close(input) }
    }

    // MARK: Exit

    /// The exit code, or the negative number of the signal that ended the process. It is `nil` while the process runs.
    var end: Int32? {
        status.withLock { known in
            if let known { return known }
            var raw: Int32 = 0
            guard waitpid(pid, &raw, WNOHANG) == pid else { return nil }
            known = raw & 0x7F == 0 ? raw >> 8 & 0xFF : -(raw & 0x7F)
            Self.forget(pid)
            return known
        }
    }

    func signal(_ number: Int32) {
        if end == nil { _ = Foundation.kill(pid, number) }
    }

    /// Kills the process and waits until it has ended.
    func kill() {
        signal(SIGKILL)
        while end == nil { usleep(1000) }
    }

    /// Returns the exit code, or `nil` if the process does not end within `time`.
    func end(within time: Duration) async throws -> Int32? {
        let deadline = ContinuousClock.now + time
        while ContinuousClock.now < deadline {
            if let end { return end }
            try await Task.sleep(for: .milliseconds(10))
        }
        return end
    }

    func waitForEnd(within seconds: Double = 90) async throws -> Int32 {
        try await eventually("the process ends", within: seconds) { self.end }
    }

    var outputText: String { (try? String(contentsOf: output, encoding: .utf8)) ?? "" }
    var errorText: String { (try? String(contentsOf: errors, encoding: .utf8)) ?? "" }

    // MARK: Processes to kill at exit

    private static let running = Mutex<Set<pid_t>>([])
    private static let killsAtExit: Void = {
        atexit {
            for pid in ChildProcess.running.withLock({ $0 }) { _ = Foundation.kill(pid, SIGKILL) }
        }
    }()

    private static func remember(_ pid: pid_t) {
        killsAtExit
        running.withLock { _ = $0.insert(pid) }
    }

    private static func forget(_ pid: pid_t) {
        running.withLock { _ = $0.remove(pid) }
    }
}
