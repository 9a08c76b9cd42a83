import Foundation
import Scrollback
import ScrollbackTesting
import ScrollbackUI
import Testing

@MainActor
@Suite("NewGroupModel")
struct NewGroupModelTests {
    @Test("Users are added from the directory or by their ID, and the group is created with them")
    func create() async throws {
        let server = try TestServer(users: ["alice", "bob", "bea"])
        try await server.setFeatures(directory: true)
        let bea = try await server.client("bea")
        let list = ConversationListModel(try await server.client("alice"))
        list.beginGroup()
        let model = try #require(list.newGroup)
        #expect(!model.canCreate, "The name is missing.")
        model.directory.text = "b"
        try await shows { model.candidates.map(\.id) == ["bea", "bob", "b"] }
        model.add(model.candidates[0])
        #expect(model.directory.text.isEmpty && model.members.map(\.id) == ["bea"])
        model.directory.text = "bob"
        try await shows { model.candidates.map(\.name) == ["Bob"] }
        model.add(model.candidates[0])
        model.directory.text = "alice"
        #expect(!model.candidates.contains { $0.id == "alice" }, "The user is a member anyway.")
        model.remove("bob")
        model.name = "Climbing"
        #expect(model.canCreate)
        await list.createGroup()
        #expect(list.newGroup == nil && list.path.map(\.title) == ["Climbing"])
        let group = list.path[0].timeline.conversation
        try await list.path[0].timeline.send(.text("hello"))
        let other = RecentsModel(bea.recents)
        try await shows { other.conversations.map(\.name) == ["Climbing"] }
        #expect(try await group.members().members.map(\.id) == ["alice", "bea"])
        await server.close()
    }

    @Test("A group that the server refuses is an error in the opened conversation, and leaves the list")
    func refused() async throws {
        let server = try TestServer()
        let bob = try await server.client("bob")
        try await bob.updateProfile(isInvitationOnly: true).waitForCompletion()
        let list = ConversationListModel(try await server.client("alice"))
        list.beginGroup()
        list.newGroup?.name = "Climbing"
        list.newGroup?.add(UserProfile(id: "bob"))
        await list.createGroup()
        try await shows { list.path.first?.timeline.error?.code == .invitationRequired && list.rows.isEmpty }
        await server.close()
    }

    @Test("A name that is too long is an error, and the form stays open")
    func fails() async throws {
        let server = try TestServer()
        let list = ConversationListModel(try await server.client("alice"))
        list.beginGroup()
        list.newGroup?.name = String(repeating: "a", count: 1000)
        await list.createGroup()
        #expect(list.newGroup?.error != nil && list.path.isEmpty)
        await server.close()
    }
}
