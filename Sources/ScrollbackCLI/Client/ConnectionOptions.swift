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

    @Option(help: "An administrator token, if the data directory is on another machine.")
    var key: String?

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

    /// Returns the administrator token of --key or of the data directory.
    func adminToken() throws -> String {
        if let key { return key.trimmingCharacters(in: .whitespacesAndNewlines) }
        let file = directory.appending(path: "admin.key")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw ChatError.invalidParameter(
                "data", "has no admin.key (\(file.path)): use --data with the server's data directory, or --key")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns a token for a user.
    ///
    /// Signs it with the data directory's secret, or requests it from the server if --key is given.
    func token(for user: UserID) async throws -> String {
        if key == nil {
            guard FileManager.default.fileExists(atPath: directory.appending(path: "secrets.json").path) else {
                throw ChatError.invalidParameter(
                    "data",
                    "has no secrets.json (\(directory.path)): use --data with the server's data directory, or --key"
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
