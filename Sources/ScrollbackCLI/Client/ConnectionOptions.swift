import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

/// The options for connecting to the server and for authentication.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "The URL of the server.")
    var server = "http://127.0.0.1:8080"

    @Option(help: "The server's data directory with the secret that signs tokens.")
    var data = "./scrollback-data"

    @Option(
        help: """
            A file with an administrator token, if the data directory is on another machine (default: the token in \
            SCROLLBACK_ADMIN_KEY).
            """)
    var keyFile: String?

    @Flag(help: "Print only JSON objects to standard output, one per line.")
    var json = false

    func validate() throws {
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw ValidationError("--server must be an http or https URL, for example http://127.0.0.1:8080.")
        }
    }

    var directory: URL { URL(filePath: data, directoryHint: .isDirectory) }

    var address: URL {
        get throws {
            guard let url = URL(string: server) else { throw ChatError.invalidParameter("server", "must be a URL") }
            return url
        }
    }

    /// Whether the administrator token comes from --key-file or the environment, because the data directory is on
    /// another machine.
    ///
    /// No option takes the token itself, because other users of the machine can see the arguments of a command.
    var hasKey: Bool { keyFile != nil || Self.keyFromEnvironment != nil }

    private static var keyFromEnvironment: String? {
        ProcessInfo.processInfo.environment["SCROLLBACK_ADMIN_KEY"].flatMap { key in
            let text = key.trimmingCharacters(in: .whitespacesAndNewlines)
            return text.isEmpty ? nil : text
        }
    }

    /// Returns the administrator token of --key-file, of the environment or of the data directory.
    func adminToken() throws -> String {
        if let keyFile { return try secret(inFile: keyFile, parameter: "key-file") }
        if let key = Self.keyFromEnvironment { return key }
        let file = directory.appending(path: "admin.key")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw ChatError.invalidParameter(
                "data", "has no admin.key (\(file.path)): use --data with the server's data directory, or --key-file")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns a token for a user.
    ///
    /// Signs it with the data directory's secret, or requests it from the server with the administrator token that is
    /// given.
    func token(for user: UserID) async throws -> String {
        if !hasKey {
            guard FileManager.default.fileExists(atPath: directory.appending(path: "secrets.json").path) else {
                throw ChatError.invalidParameter(
                    "data",
                    "has no secrets.json (\(directory.path)): use --data with a server's data directory, or --key-file"
                )
            }
            return try await TokenService(directory: directory)
                .token(for: user, isAdmin: false, lifetime: TokenService.standardLifetime)
        }
        let api = ServerAPI(address: try address, token: try adminToken())
        return try await api.object("POST", "/v1/tokens") {
            $0.field("user", user)
        } read: { (reader) throws(ChatError) in
            var token: String?
            try reader.object { (name, value) throws(ChatError) in
                if name == "token" { token = try value.string() } else { try value.skip() }
            }
            return try token.required("token")
        }
    }

    func api(as user: UserID) async throws -> ServerAPI {
        ServerAPI(address: try address, token: try await token(for: user))
    }

    func adminAPI() throws -> ServerAPI {
        ServerAPI(address: try address, token: try adminToken())
    }
}

/// The conversation argument of a command.
struct ConversationArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The conversation: direct:bob, group:swift, community:city/general, room:lobby or system:billing.",
            valueName: "conversation"),
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var id: ConversationID
}

/// Reads a file that contains one secret.
///
/// - Throws: `invalid-parameter` with the name of the option if the file can't be read or is empty.
func secret(inFile path: String, parameter: String) throws(ChatError) -> String {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw .invalidParameter(parameter, "names a file that can't be read (\(path))")
    }
    let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !secret.isEmpty else { throw .invalidParameter(parameter, "names an empty file (\(path))") }
    return secret
}

/// Converts an error about an argument to a usage error.
func checked<Value>(_ body: () throws(ChatError) -> Value) throws -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(error.message)
    }
}

/// Parses a user from an argument.
func user(_ text: String) throws -> UserID {
    try checked { () throws(ChatError) in try UserID(text) }
}
