import Foundation
import PictureFixtures
import ScrollbackModel
import SQLiteSupport
import TestSupport
import Testing

@Suite("File permissions of the data directory")
struct FilePermissionTests {
    /// The files and directories of a directory, with their modes.
    private func modes(of directory: URL) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path) + ["."]
        for name in names {
            let attributes = try? FileManager.default.attributesOfItem(atPath: directory.appending(path: name).path)
            modes[name] = attributes?[.posixPermissions] as? Int
        }
        return modes
    }

    @Test("A server creates all files for its owner only, whatever the umask")
    func newDirectory() async throws {
        let server = try await RunningServer.start(shell: "umask 000")
        #expect(try await server.api("alice").send("hi", to: "direct:bob").status == 201)
        let modes = try modes(of: server.data)
        #expect(modes["scrollback.sqlite"] == 0o600 && modes["scrollback.sqlite-wal"] == 0o600)
        #expect(modes["."] == 0o700 && modes["search.sqlite"] == 0o600 && modes["lock"] == 0o600)
        #expect(modes.filter { $0.value & 0o077 != 0 } == [:])
    }

    @Test("A server takes the permissions of other users from an existing data directory, and logs it")
    func existingDirectory() async throws {
        let fixture = try await MediaServer()
        let server = fixture.server
        _ = try await fixture.upload(SampleFile.text)
        #expect(try await server.terminate() == 0)
        for name in try modes(of: server.data).keys {
            let path = server.data.appending(path: name).path
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            chmod(path, isDirectory.boolValue ? 0o755 : 0o644)
        }
        try await server.start()
        let modes = try modes(of: server.data)
        #expect(modes.keys.contains { $0.hasPrefix("media/blobs/") && $0.count > 20 })
        #expect(modes.filter { $0.value & 0o077 != 0 } == [:])
        #expect(server.log.contains("Other users could read the data directory."))
    }

    @Test("A server warns of each file with secrets that other users may open, and names the command that helps")
    func openSecrets() async throws {
        let folder = try TemporaryFolder()
        func file(_ name: String, _ text: String, _ mode: mode_t) throws -> String {
            let file = folder.url.appending(component: name)
            try Data(text.utf8).write(to: file)
            chmod(file.path, mode)
            return file.path
        }
        let keys = try file("keys", Data(repeating: 7, count: 32).base64EncodedString(), 0o640)
        let pushes = try file("pushes", #"{"push":{"services":{}}}"#, 0o604)
        let token = try file("token", "a token for the metrics", 0o600)
        let server = try await RunningServer.start(
            RunningServer.withoutLimits + [
                "--store-keys", keys, "--push-credentials", pushes, "--metrics-token", token,
            ], folder: folder)
        let warnings = server.log.split(separator: "\n").filter { $0.contains("Other users may open a file") }
        #expect(warnings.count == 2, "\(server.log)")
        for (path, mode) in [(keys, "mode=640"), (pushes, "mode=604")] {
            #expect(warnings.contains { $0.contains("chmod 600 \(path)") && $0.contains(mode) }, "\(warnings)")
        }
        #expect(try await server.terminate() == 0)
        for path in [keys, pushes] { chmod(path, 0o600) }
        try await server.start()
        #expect(!server.log.contains("Other users may open a file"), "\(server.log)")
        #expect(try await server.terminate() == 0)
    }

    @Test("A file is exposed if its group or all other users may open it")
    func exposedFiles() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(component: "file")
        #expect(PrivateFiles.exposedMode(of: file.path) == nil)
        try Data().write(to: file)
        for (mode, isExposed) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o620, true)] {
            chmod(file.path, mode_t(mode))
            #expect(PrivateFiles.exposedMode(of: file.path) == (isExposed ? mode_t(mode) : nil))
        }
        // Devices and pipes, such as those of a shell's process substitution, are no files with secrets.
        #expect(PrivateFiles.exposedMode(of: "/dev/null") == nil)
    }

    @Test("Only an open directory is searched, and links are left alone")
    func restrict() throws {
        let folder = try TemporaryFolder()
        let outside = folder.url.appending(component: "outside")
        try Data().write(to: outside)
        let directory = folder.url.appending(component: "data")
        let nested = directory.appending(path: "a/b")
        try PrivateFiles.createDirectory(nested)
        let file = nested.appending(component: "file")
        try Data().write(to: file)
        try FileManager.default.createSymbolicLink(
            at: directory.appending(component: "link"), withDestinationURL: outside)
        for (path, mode) in [(file, 0o666), (outside, 0o666)] as [(URL, mode_t)] { chmod(path.path, mode) }
        #expect(try PrivateFiles.restrict(directory, errorCode: .internalError) == 0)
        chmod(directory.path, 0o750)
        #expect(try PrivateFiles.restrict(directory, errorCode: .internalError) == 2)
        let modes = try modes(of: directory)
        #expect(modes["."] == 0o700 && modes["a"] == 0o700 && modes["a/b"] == 0o700 && modes["a/b/file"] == 0o600)
        let outsideMode = try FileManager.default.attributesOfItem(atPath: outside.path)[.posixPermissions] as? Int
        #expect(outsideMode == 0o666)
    }

    #if os(Linux)
        @Test("Verifying a directory that the current user can't open fails with the path and the user to run it as")
        func verifyOfAnotherUser() async throws {
            let server = try await RunningServer.start()
            #expect(try await server.terminate() == 0)
            let store = server.data.appending(component: "scrollback.sqlite")
            func verify(_ directory: URL) async throws -> String {
                let process = try RunningServer.run(
                    ["verify", directory.path], shell: RunningServer.underPermissions, name: "verify",
                    folder: server.folder)
                #expect(try await process.waitForEnd(within: 60) == 1)
                return process.errorText
            }
            func expected(_ file: URL) -> String { "directory can't be opened by the current user (\(file.path))." }
            for (closed, mode) in [(server.data, 0o700), (store, 0o600)] as [(URL, mode_t)] {
                chmod(closed.path, 0)
                let errors = try await verify(server.data)
                #expect(errors.contains(expected(closed)) && errors.contains("sudo -u USER"), "\(errors)")
                if closed == server.data {
                    // Permissions hide what is below the directory.
                    let below = server.data.appending(component: "backup")
                    #expect(try await verify(below).contains(expected(below)))
                }
                chmod(closed.path, mode)
            }
            // The command opens a data directory for writing, as a server does.
            chmod(store.path, 0o400)
            #expect(try await verify(server.data).contains(expected(store)))
            chmod(store.path, 0o600)
            #expect(try await RunningServer.command(["verify", server.data.path]).code == 0)
        }

        @Test("A directory whose mode can't be changed is refused with the command that helps")
        func refusal() throws {
            // Linux refuses changes of modes below /proc/sys, also to the administrator.
            let error = #expect(throws: ChatError.self) {
                try PrivateFiles.restrict(URL(filePath: "/proc/sys"), errorCode: .internalError)
            }
            #expect(error?.message.contains("chmod -R go=") == true && error?.message.contains("mode 555") == true)
        }
    #endif
}
