import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// The table of operations and the documentation page that is generated from it.
@Suite struct PermissionsPageTests {
    @Test func `No two operations have the same frame type or the same name`() {
        let frames = OperationRegistry.all.compactMap { $0.endpoint.frame }
        #expect(Set(frames).count == frames.count)
        let names = OperationRegistry.all.map { $0.name }
        #expect(Set(names).count == names.count)
    }

    @Test func `Only probes and incoming webhooks take no token, and methods that change data need more than read`() {
        let rules = APISurface.operations.map { ($0.name, $0.access) } + APISurface.requests.map { ($0.key, $0.value) }
        for (name, access) in rules {
            #expect((access.scope == nil) == ["probe", "postToHook"].contains(name), "\(name)")
            #expect((access.scope == nil) == (access.callers == .everyone), "\(name)")
            #expect((access.scope == .admin) == (access.callers == .administrator), "\(name)")
            if case .permission(let permissions) = access.callers { #expect(!permissions.isEmpty, "\(name)") }
        }
        for (method, path, name, access) in APISurface.operations where name != "probe" {
            if method == "GET" { #expect([.read, .admin].contains(access.scope), "\(path)") }
            if ["PUT", "DELETE", "PATCH"].contains(method) { #expect(access.scope != .read, "\(method) \(path)") }
        }
    }

    @Test func `The permissions page equals the generated page`() throws {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let file = package.appending(path: "Documentation/permissions.md")
        if ProcessInfo.processInfo.environment["SCROLLBACK_WRITE_PAGES"] != nil {
            try Data(APISurface.permissionsPage.utf8).write(to: file)
        }
        let written = try String(contentsOf: file, encoding: .utf8)
        let lines = (written.split(separator: "\n"), APISurface.permissionsPage.split(separator: "\n"))
        for (old, new) in zip(lines.0, lines.1) { #expect(old == new) }
        #expect(
            written == APISurface.permissionsPage,
            "The page is outdated. Run SCROLLBACK_WRITE_PAGES=1 swift test --filter PermissionsPageTests.")
    }
}
