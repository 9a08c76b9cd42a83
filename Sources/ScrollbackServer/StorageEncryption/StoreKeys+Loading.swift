import Foundation
package import ScrollbackModel
package import SQLiteSupport

extension StoreKeys {
    /// The timeout of a command that prints the keys, in seconds.
    private static let timeout: TimeInterval = 60

    /// Reads the storage encryption keys from a file or from the output of a command.
    ///
    /// - Parameters:
    ///   - file: The path of a key file.
    ///   - command: A command for `/bin/sh` that prints the keys in the format of the file.
    /// - Returns: The keys, or `nil` if both parameters are `nil`.
    /// - Throws: `invalid-parameter` with the file or the command's failure, and never with the command's output.
    package static func load(file: String?, command: String?) throws(ChatError) -> StoreKeys? {
        guard file == nil || command == nil else {
            throw .invalidParameter("store-keys", "can't be combined with store-keys-command")
        }
        if let file {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw .invalidParameter(
                    "store-keys", "names a file that can't be read (\(file)): use a file that this user can read")
            }
            return try parse(data, "store-keys", "the file \(file)")
        }
        guard let command else { return nil }
        return try parse(try output(of: command), "store-keys-command", "the output of the command")
    }

    private static func parse(_ data: Data, _ parameter: String, _ source: String) throws(ChatError) -> StoreKeys {
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw .invalidParameter(parameter, "must give UTF-8 text, but \(source) is not")
        }
        do throws(ChatError) {
            return try StoreKeys(text: text)
        } catch {
            throw ChatError(.invalidParameter, "Can't use \(source): \(error.message)", parameter: parameter)
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
                .invalidParameter, "Can't run store-keys-command with /bin/sh.", parameter: "store-keys-command",
                cause: error)
        }
        let overdue = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout, execute: overdue)
        let data = (try? output.fileHandleForReading.readToEnd()) ?? nil
        process.waitUntilExit()
        overdue.cancel()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let reason =
                process.terminationReason == .exit
                ? "exited with status \(process.terminationStatus)"
                : "was killed after at most \(Int(timeout)) seconds"
            throw .invalidParameter("store-keys-command", "\(reason): see its messages on standard error")
        }
        return data ?? Data()
    }
}
