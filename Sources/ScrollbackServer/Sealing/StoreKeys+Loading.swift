import Foundation
package import ScrollbackModel
package import StoreFiles

extension StoreKeys {
    /// How long a command may take that gives the keys.
    private static let patience: TimeInterval = 60

    /// Reads the keys where they are kept: in a file, or wherever a command takes them from.
    ///
    /// - Parameters:
    ///   - file: a path.
    ///   - command: for `/bin/sh`; what it prints are the keys, in the form of the file.
    /// - Returns: nothing without either.
    /// - Throws: `invalid-parameter` naming the file or what went wrong with the command, and never what it printed.
    package static func load(file: String?, command: String?) throws(ChatError) -> StoreKeys? {
        guard file == nil || command == nil else {
            throw .invalidParameter("store-keys", "and store-keys-command must not both be given")
        }
        if let file {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw .invalidParameter("store-keys", "can't be read (\(file)): name a file that this user can read")
            }
            return try parse(data, "store-keys", "the file \(file)")
        }
        guard let command else { return nil }
        return try parse(try output(of: command), "store-keys-command", "what the command prints")
    }

    private static func parse(_ data: Data, _ parameter: String, _ source: String) throws(ChatError) -> StoreKeys {
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw .invalidParameter(parameter, "must give lines of text, and \(source) is none")
        }
        do throws(ChatError) {
            return try StoreKeys(text: text)
        } catch {
            throw ChatError(.invalidParameter, "\(source) can't be used: \(error.message)", parameter: parameter)
        }
    }

    private static func output(of command: String) throws(ChatError) -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", command]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw ChatError(
                .invalidParameter, "can't be run by /bin/sh", parameter: "store-keys-command", cause: error)
        }
        let overdue = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience, execute: overdue)
        let data = (try? output.fileHandleForReading.readToEnd()) ?? nil
        process.waitUntilExit()
        overdue.cancel()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let reason =
                process.terminationReason == .exit
                ? "ended with \(process.terminationStatus)" : "was ended, after \(Int(patience)) seconds at most"
            throw .invalidParameter("store-keys-command", "\(reason): what it says is on standard error")
        }
        return data ?? Data()
    }
}
