import Foundation
import TestSupport
import Testing

@Suite("Settings of serve in the environment and in a file")
struct ServeSettingsTests {
    /// Runs `serve` with settings that it must refuse.
    ///
    /// - Parameters:
    ///   - settings: The content of the file of `--config`.
    ///   - environment: An assignment such as `SCROLLBACK_PORT=80`.
    /// - Returns: The error, without the folder of the test.
    private func refusal(
        _ arguments: [String] = [], settings: String? = nil, environment: String? = nil
    ) async throws -> String {
        let folder = try TemporaryFolder()
        var arguments = ["serve", "--data", folder.url.appending(component: "data").path] + arguments
        if let settings {
            let file = folder.url.appending(component: "settings.json")
            try Data(settings.utf8).write(to: file)
            arguments += ["--config", file.path]
        }
        let process = try RunningServer.run(
            arguments, shell: environment.map { "export \($0)" }, name: "refused", folder: folder.url)
        #expect(try await process.waitForEnd() == 1)
        return process.errorText.replacing(folder.url.path + "/", with: "")
    }

    @Test(arguments: [
        ("SCROLLBACK_PORT", "80a", "must be a whole number"),
        ("SCROLLBACK_SEND_RATE", "fast", "must be a number"),
        ("SCROLLBACK_STORE_LOCK_SECONDS", "", "must be a number"),
        ("SCROLLBACK_TOKEN_ADMIN", "maybe", "must be true or false"),
    ])
    func `A variable with a value of another type is refused, and named`(
        variable: String, value: String, reason: String
    ) async throws {
        #expect(
            try await refusal(environment: "\(variable)=\(value)")
                == "error: \(variable) \(reason) (invalid-parameter)\n")
    }

    @Test(arguments: [
        (#"{"port":"8080"}"#, "port", "must be a whole number"),
        (#"{"tls":{"certificate":1}}"#, "tls.certificate", "must be a string"),
        (#"{"allow":{"origin":"https://app.example.org"}}"#, "allow.origin", "must be a list of strings"),
        (#"{"port":0,"tls":{"certifcate":"chain.pem"}}"#, "tls.certifcate", "is not the key of a setting"),
        (#"{"port":0,"tls":"chain.pem"}"#, "tls", "is not the key of a setting"),
    ])
    func `A file with a wrong value or an unknown key is refused, and the key is named`(
        settings: String, key: String, reason: String
    ) async throws {
        #expect(
            try await refusal(settings: settings)
                == "error: \(key) in the settings file settings.json \(reason) (invalid-parameter)\n")
    }

    @Test func `An option takes precedence over the environment, and the environment over the file`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "settings.json")
        try Data(#"{"connections":{"max":7},"everyone":{"rate":20},"port":null}"#.utf8).write(to: file)
        let server = try await RunningServer.start(
            ["--config", file.path, "--everyone-rate", "0"], shell: "export SCROLLBACK_CONNECTIONS_MAX=9",
            folder: folder)
        #expect(try await server.metric("scrollback_sockets_limit") == 9)
    }

    @Test func `A data directory that can't be created is refused with the reason`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "file")
        try Data().write(to: file)
        let atFile = try await RunningServer.command(["serve", "--port", "0", "--data", file.path])
        #expect(atFile.code == 1)
        #expect(atFile.errors == "error: Can't create the directory \(file.path): File exists. (invalid-parameter)\n")
        let below = file.path + "/data"
        let inFile = try await RunningServer.command(["serve", "--port", "0", "--data", below])
        #expect(inFile.code == 1)
        #expect(inFile.errors == "error: Can't create the directory \(below): Not a directory. (invalid-parameter)\n")
    }

    @Test(arguments: ["token", "files", "push"])
    func `A file of certificate authorities that has none is refused`(setting: String) async throws {
        let error = try await refusal(
            ["--port", "0"], environment: "SCROLLBACK_\(setting.uppercased())_AUTHORITIES=/dev/null")
        let reason = "must name a PEM file with certificates that this user can read (/dev/null)"
        #expect(error == "error: \(setting).authorities \(reason) (invalid-parameter)\n")
    }

    @Test func `A host without an address is refused with the name of the host`() async throws {
        let errors = try await refusal(["--host", "host.invalid", "--port", "8443"])
        let error = "error: Can't listen on host.invalid:8443: the name of the host has no address."
        #expect(errors.contains(error), "\(errors)")
    }
}
