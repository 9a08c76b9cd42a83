import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("DirectoryModel")
struct DirectoryModelTests {
    @Test("The model shows the users that match the newest text, in pages, and the error of a refused search")
    func search() async throws {
        let server = try TestServer(users: ["alice", "bob", "bea", "ben"])
        let client = try await server.client("alice")
        let model = DirectoryModel(client, pageSize: 2)
        model.text = "b"
        try await shows { model.error?.code == .featureOff && !model.isSearching }
        model.error = nil
        try await server.setFeatures(directory: true)
        model.text = "be"
        model.text = "B"
        try await shows { model.results.map(\.id) == ["bea", "ben"] && model.hasMore && !model.isSearching }
        await model.loadMore()
        #expect(model.results.map(\.id) == ["bea", "ben", "bob"])
        model.text = "bo"
        try await shows { model.results.map(\.id) == ["bob"] && !model.hasMore }
        model.text = " "
        try await shows { model.results.isEmpty && !model.isSearching }
        #expect(model.error == nil, "The server is not asked for white space.")
        model.text = "b"
        try await shows { model.hasMore && !model.isSearching }
        // The results and the cursor of another text don't stay after a failed search.
        try await server.setFeatures(directory: false)
        model.text = "be"
        try await shows { model.error?.code == .featureOff && !model.isSearching }
        #expect(model.results.isEmpty && !model.hasMore)
        await server.close()
    }
}
