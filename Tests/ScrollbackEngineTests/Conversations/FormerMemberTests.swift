import Foundation
import PictureFixtures
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// Former members see a conversation as it was when their membership ended.
///
/// `FormerMemberRequestTests` walks over every operation; these tests show what is seen instead.
@Suite("Former members")
struct FormerMemberTests {
    private let group = ConversationID.group("g")
    private let alice = Caller(user: "alice")
    private let bob = Caller(user: "bob")

    /// A conversation with three messages, in which bob was a member, and their IDs.
    private struct Place {
        var id: ConversationID
        var members: ConversationID
        var ids: [MessageID]
    }

    /// Returns the group, a public and a private channel, each with the messages `one`, `two` and `three`.
    private func places(_ harness: EngineHarness) throws -> [Place] {
        let (open, closed) = (
            ConversationID.community("c", channel: "open"), ConversationID.community("c", channel: "closed")
        )
        try harness.put(group, .init(name: "Old", avatar: "https://old", members: ["alice", "bob"]))
        try harness.make(.community("c"), members: ["alice", "bob"])
        try harness.put(open, .init(name: "Old", avatar: "https://old"))
        try harness.put(
            closed, .init(name: "Old", avatar: "https://old", isPrivate: true, members: ["alice", "bob"]))
        let lists: [(id: ConversationID, members: ConversationID)] = [
            (group, group), (open, .community("c")), (closed, closed),
        ]
        return try lists.map { id, members -> Place in
            let submissions = ["one", "two", "three"].map { harness.submission($0) }
            for submission in submissions { try harness.send(submission, to: id, by: "alice") }
            return Place(id: id, members: members, ids: submissions.map(\.id))
        }
    }

    private func reply(_ text: String, to id: MessageID, _ harness: EngineHarness) -> Submission {
        var submission = harness.submission(text)
        submission.attributes.replyTo = id
        return submission
    }

    private func message(_ id: MessageID, _ place: Place, _ harness: EngineHarness) throws -> Message {
        let found = try harness.engine.message(id, in: place.id, by: bob)
        // Every way to read a message gives the same.
        let page = try harness.page(of: place.id, by: "bob")
        #expect(page.messages.first { $0.id == id } == found)
        return found
    }

    @Test("A message that is edited after the end is a tombstone, and one that was edited before is unchanged")
    func edits() throws {
        for index in 0..<3 {
            let harness = try EngineHarness()
            let place = try places(harness)[index]
            try harness.edit(place.ids[0], in: place.id, "one edited", by: alice)
            harness.clock.advance(by: 60)
            try harness.leave(place.members, "bob")
            harness.clock.advance(by: 60)
            try harness.edit(place.ids[1], in: place.id, "two edited", mentions: .set(.users(["bob"])), by: alice)
            try harness.react("👍", to: place.ids[0], in: place.id, by: alice)
            let (first, second) = (try message(place.ids[0], place, harness), try message(place.ids[1], place, harness))
            #expect(first.text == "one edited" && first.editedAt != nil && first.actions.isEmpty)
            #expect(second.isDeleted && second.editedAt == nil && second.attributes.mentions == nil)
            #expect(second.sender == "alice" && second.rev == 0)
            #expect(try message(place.ids[2], place, harness).text == "three")
            // A filter does not reveal what the edit added.
            let mentions = HistoryQuery(.latest, limit: 9, filter: .mentionsMe)
            #expect(try harness.page(mentions, of: place.id, by: "bob").messages.isEmpty)
            #expect(try harness.found("edited", in: place.id, by: "bob") == ["one edited"])
            #expect(try harness.found("edited", by: "alice").count == 2)
            // The version of then is not stored any more.
            #expect(try harness.found("two", in: place.id, by: "bob") == [])
            // Recalls concern former members too.
            try harness.delete(place.ids[2], in: place.id, by: alice)
            #expect(try message(place.ids[2], place, harness).isDeleted)
        }
    }

    @Test("An edit in the millisecond of the end is hidden only if it was after the end")
    func editsInTheSameMillisecond() throws {
        let harness = try EngineHarness()
        let place = try places(harness)[0]
        try harness.edit(place.ids[0], in: place.id, "before", by: alice)
        try harness.leave(place.members, "bob")
        try harness.edit(place.ids[1], in: place.id, "after", by: alice)
        #expect(try message(place.ids[0], place, harness).text == "before")
        #expect(try message(place.ids[1], place, harness).isDeleted)
    }

    @Test("Actions and replies after the end are neither listed nor counted")
    func actionsAndReplies() throws {
        for index in 0..<3 {
            let harness = try EngineHarness()
            let place = try places(harness)[index]
            for (user, value) in [("alice", "👍"), ("bob", "👍"), ("bob", "🎉")] {
                try harness.react(value, to: place.ids[0], in: place.id, by: Caller(user: UserID(known: user)))
            }
            let first = reply("first", to: place.ids[0], harness)
            try harness.send(first, to: place.id, by: "alice")
            let before = try harness.engine.message(place.ids[0], in: place.id, by: bob)
            harness.clock.advance(by: 60)
            try harness.leave(place.members, "bob")
            harness.clock.advance(by: 60)
            try harness.react("🎉", to: place.ids[0], in: place.id, by: alice)
            try harness.react("🙈", to: place.ids[0], in: place.id, by: alice)
            try harness.react("🙈", to: place.ids[1], in: place.id, by: alice)
            try harness.send(reply("second", to: place.ids[0], harness), to: place.id, by: "alice")
            var after = try message(place.ids[0], place, harness)
            #expect(after.rev <= before.rev)
            after.rev = before.rev
            #expect(after == before && after.replies?.count == 1 && after.actions.count == 2)
            #expect(try message(place.ids[1], place, harness).actions.isEmpty)
            // Pages of one action end with the last one of the membership.
            var listed: [String] = []
            var next: Timetoken?
            repeat {
                let page = try harness.engine.actions(on: nil, in: place.id, after: next, limit: 1, by: bob)
                listed += page.actions.map(\.value)
                next = page.next
            } while next != nil
            #expect(listed == ["👍", "👍", "🎉"])
            let query = HistoryQuery(.latest, limit: 9, includesActions: true)
            #expect(try harness.page(query, of: place.id, by: "bob").actions.map(\.value) == listed)
            // The members see the present.
            let present = try harness.engine.message(place.ids[0], in: place.id, by: alice)
            #expect(present.replies?.count == 2 && present.actions.map(\.count) == [2, 2, 1])
            #expect(
                try harness.engine.actions(on: nil, in: place.id, after: nil, limit: 9, by: alice).actions.count == 6)
        }
    }

    @Test("The name and avatar stay as they were, and those of a public channel are left out after a change")
    func names() throws {
        let harness = try EngineHarness()
        let places = try places(harness)
        // Leaving the community ends the membership in its private channel too.
        for place in places.reversed() { try harness.leave(place.members, "bob") }
        for place in places { #expect(try harness.head(place.id, "bob").name == "Old") }
        for (place, known) in zip(places, ["Old", nil, "Old"]) {
            try harness.put(place.id, .init(name: "New", avatar: "https://new"))
            let head = try harness.head(place.id, "bob")
            #expect(head.name == known && head.avatar == known.map { _ in "https://old" })
            #expect(try harness.head(place.id, "alice").name == "New")
        }
        let listed = try harness.engine.recents(limit: 9, by: bob).heads
        #expect(listed.count == 3 && listed.allSatisfy { $0.name != "New" && $0.avatar != "https://new" })
        // A channel that is created later does not exist for them.
        harness.clock.advance(by: 1)
        let later = ConversationID.community("c", channel: "later")
        try harness.put(later, .init(name: "New"))
        #expect(refusal { _ = try harness.head(later, "bob") }?.code == .unknownConversation)
        #expect(refusal { try harness.send("hello", to: later, by: "bob") }?.code == .unknownConversation)
        let ban = BanUser(conversation: later, user: "carol")
        #expect(refusal { _ = try harness.perform(ban, by: bob) }?.code == .unknownConversation)
    }

    @Test("A former member does not read files that were edited in later, nor thumbnails that were added later")
    func files() async throws {
        let harness = try EngineHarness()
        let place = try places(harness)[0]
        let picture = try await harness.upload(SampleFile.png(8, 8), as: .image, to: group, by: "alice")
        let other = try await harness.upload(SampleFile.png(9, 9), as: .image, to: group, by: "alice")
        let (kept, edited) = (try harness.submission(of: picture), try harness.submission(of: picture))
        for submission in [kept, edited] { try harness.send(submission, to: group, by: "alice") }
        harness.clock.advance(by: 60)
        try harness.leave(place.members, "bob")
        harness.clock.advance(by: 60)
        _ = try await harness.engine.putThumbnail(SampleFile.png(4, 4), of: picture.id, by: alice)
        let content = try MessageContent(type: .image, json: RawJSON(#"{"media":"\#(other.id)"}"#))
        _ = try harness.done {
            harness.engine.edit(edited.id, in: group, MessageEdit(content), by: alice, completion: $0)
        }
        #expect(try !harness.mayRead(other, "bob"))
        #expect(try harness.engine.file(picture.id, by: bob).thumbnail == nil)
        #expect(try harness.engine.file(picture.id, by: alice).thumbnail != nil)
        #expect(try message(kept.id, place, harness).content != nil)
        // The last message that showed the file is edited too.
        _ = try harness.done {
            harness.engine.edit(kept.id, in: group, MessageEdit(content), by: alice, completion: $0)
        }
        #expect(try !harness.mayRead(picture, "bob"))
    }

    @Test("A user who joins again sees the present, and a device that synced in between gets every change")
    func joiningAgain() throws {
        for index in 0..<3 {
            let harness = try EngineHarness()
            let place = try places(harness)[index]
            try harness.put(place.id, .init(visibility: .everything))
            try harness.react("👍", to: place.ids[2], in: place.id, by: alice)
            harness.clock.advance(by: 60)
            try harness.leave(place.members, "bob")
            harness.clock.advance(by: 60)
            try harness.edit(place.ids[1], in: place.id, "edited", by: alice)
            try harness.react("🎉", to: place.ids[2], in: place.id, by: alice)
            try harness.put(place.id, .init(name: "New"))
            func sync(_ rev: Int64) throws -> LogSync {
                let state = try harness.head(place.id, "bob").state
                let position = LogPosition(
                    conversation: place.id, epoch: state.epoch, view: state.view, seq: state.head, rev: rev)
                return try harness.engine.syncLogs([position], by: bob)[0].result.get()
            }
            let former = try sync(0)
            let known = try harness.head(place.id, "bob").state.rev
            #expect(known == 1 && former.changedThrough == known && !former.mustRefetch)
            #expect(
                former.changes.map { change -> Int64? in
                    guard case .message(let message) = change else { return nil }
                    return message.actions.count == 1 ? message.rev : nil
                } == [1])
            #expect(try sync(known).changes.isEmpty)

            try harness.join(place.members, "bob")
            #expect(try harness.head(place.id, "bob").name == "New")
            #expect(try harness.engine.message(place.ids[1], in: place.id, by: bob).text == "edited")
            let changed = try sync(known).changes.map { change -> String in
                guard case .message(let message) = change else { return "\(change)" }
                return "\(message.text ?? "") \(message.actions.count)"
            }
            #expect(changed == ["edited 0", "three 2"])
        }
    }

    @Test("A retry of a former member does not return a later edit of their message")
    func retries() throws {
        let harness = try EngineHarness()
        let place = try places(harness)[0]
        let own = harness.submission("mine")
        try harness.send(own, to: place.id, by: "bob")
        harness.clock.advance(by: 60)
        try harness.leave(place.members, "bob")
        harness.clock.advance(by: 60)
        try harness.edit(own.id, in: place.id, "edited by an administrator", by: EngineHarness.admin)
        let again = try harness.send(own, to: place.id, by: "bob")
        #expect(again.outcome == .duplicate && again.content == nil)
        #expect(try message(own.id, place, harness).isDeleted)
    }

    @Test("A search of a former member ends without a cursor although many edited messages match")
    func searchWithoutHits() throws {
        let harness = try EngineHarness()
        let place = try places(harness)[0]
        let submissions = (0..<40).map { harness.submission("plain \($0)") }
        for submission in submissions { try harness.send(submission, to: place.id, by: "alice") }
        harness.clock.advance(by: 60)
        try harness.leave(place.members, "bob")
        harness.clock.advance(by: 60)
        for submission in submissions { try harness.edit(submission.id, in: place.id, "harbour", by: alice) }
        let page = try harness.search(SearchQuery("harbour", in: place.id, limit: 1), by: bob)
        #expect(page.hits.isEmpty && page.next == nil)
    }
}
