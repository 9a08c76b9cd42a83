import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackServer
import ScrollbackWire
import Testing

/// The table of operations, and the page that is written from it.
@Suite struct PermissionsPageTests {
    @Test func `Every request over the WebSocket is in the table, once, and nothing else is`() {
        let requests = ServerOperation.allCases.flatMap { $0.rule.requests }
        #expect(requests.count == Set(requests).count)
        #expect(Set(requests) == ClientRequest.names.union(["hello"]))
        for request in requests { #expect(ServerOperation(request: request) != nil) }
        #expect(ServerOperation(request: "anything") == nil)
    }

    @Test func `Every operation can be asked for, and what takes no token is no one's but a probe's`() {
        let routed = Set(Surface.operations.map(\.operation))
        for operation in ServerOperation.allCases {
            let rule = operation.rule
            #expect(routed.contains(operation) || !rule.requests.isEmpty, "\(operation)")
            #expect((rule.scope == nil) == (operation == .probe), "\(operation)")
            #expect((rule.scope == nil) == (rule.who == .everybody), "\(operation)")
            #expect((rule.scope == .admin) == (rule.who == .administrator), "\(operation)")
            if case .role(let actions) = rule.who { #expect(!actions.isEmpty, "\(operation)") }
        }
        // What only reads never takes more than read, what does more never so little: HTTP says which is which.
        for (method, path, operation) in Surface.operations where method == "GET" && operation != .probe {
            #expect([.read, .admin].contains(operation.rule.scope), "\(path)")
        }
        for (method, path, operation) in Surface.operations where ["PUT", "DELETE", "PATCH"].contains(method) {
            #expect(operation.rule.scope != .read, "\(method) \(path)")
        }
    }

    @Test func `The page of the documentation is what the tables say`() throws {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let file = package.appending(path: "Documentation/permissions.md")
        if ProcessInfo.processInfo.environment["SCROLLBACK_WRITE_PAGES"] != nil {
            try Data(Surface.permissionsPage.utf8).write(to: file)
        }
        let written = try String(contentsOf: file, encoding: .utf8)
        let lines = (written.split(separator: "\n"), Surface.permissionsPage.split(separator: "\n"))
        for (old, new) in zip(lines.0, lines.1) { #expect(old == new) }
        #expect(
            written == Surface.permissionsPage,
            "write it anew: SCROLLBACK_WRITE_PAGES=1 swift test --filter PermissionsPageTests")
    }
}
