import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire

/// Where the server is, and how this command proves who it is.
struct ConnectionOptions: ParsableArguments {
    @Option(help: "Where the server is.")
    var server = "http://127.0.0.1:8080"

    @Option(help: "The server's data directory, whose secret signs tokens.")
    var data = "./scrollback-data"

    @Option(help: "An admin key, where the data directory is on another machine.")
    var key: String?

    @Flag(help: "One JSON object a line on standard output, and nothing else there.")
    var json = false

    func validate() throws {
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host != nil else {
            throw ValidationError("--server must be a URL, for example http://127.0.0.1:8080")
        }
    }

    var directory: URL { URL(filePath: data, directoryHint: .isDirectory) }

    var address: URL {
        get throws {
            guard let url = URL(string: server) else { throw ChatError.invalidParameter("server", "must be a URL") }
            return url
        }
    }

    /// An administrator's token.
    func adminToken() throws -> String {
        if let key { return key.trimmingCharacters(in: .whitespacesAndNewlines) }
        let file = directory.appending(path: "admin.key")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else {
            throw ChatError.invalidParameter(
                "data", "has no admin.key (\(file.path)): name the server's data directory with --data, or give --key")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A token for a user: signed here by the data directory's secret, or asked of the server with the admin key.
    func token(for user: UserID) async throws -> String {
        if key == nil {
            guard FileManager.default.fileExists(atPath: directory.appending(path: "secrets.json").path) else {
                throw ChatError.invalidParameter(
                    "data",
                    "has no secrets.json (\(directory.path)): name the server's data directory with --data, or give --key"
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

/// The conversation a command is about.
struct ConversationArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The conversation: direct:bob, group:swift, community:city/general, room:lobby or system:billing.",
            valueName: "conversation"),
        transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
    var id: ConversationID
}

/// Turns what is wrong with an argument into wrong usage.
func checked<Value>(_ body: () throws(ChatError) -> Value) throws -> Value {
    do {
        return try body()
    } catch {
        throw ValidationError(error.message)
    }
}

/// Reads a user from an argument.
func user(_ text: String) throws -> UserID {
    try checked { () throws(ChatError) in try UserID(text) }
}
