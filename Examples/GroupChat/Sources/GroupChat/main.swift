import Foundation
import Scrollback

// Two users plan a tour in a group: profiles, a thread, a poll, a pinned message and a voice message.
let arguments = CommandLine.arguments
guard arguments.count == 5, let server = URL(string: arguments[1]) else {
    print("usage: GroupChat SERVER ALICE-TOKEN BOB-TOKEN VOICE-FILE, for example with http://127.0.0.1:8080")
    exit(64)
}

func connect(_ user: UserID, to server: URL, token: String) async throws -> ChatClient {
    let client = try await ChatClient.open(.init(server: server, user: user, store: .inMemory) { token })
    client.connect()
    return client
}
let alice = try await connect("alice", to: server, token: arguments[2])
let bob = try await connect("bob", to: server, token: arguments[3])
try await alice.updateProfile(name: "Alice Liddell")
try await bob.updateProfile(name: "Bob 🚲")

// Each call returns when the change is stored on the device. The client sends the changes in order.
let group = alice.conversation(.newGroup())
try await group.create(ConversationSettings(name: "Bicycle tour", members: ["bob"]))
let question = try await group.send(.text("Where shall we go?"))
let poll = try await group.send(.poll(Poll(question: "Which day?", options: ["Saturday", "Sunday"])))
try await group.pin(poll.id)
await alice.waitForOutbox()

let chat = bob.conversation(group.id)
try await chat.send(.text("To the lake!"), replyingTo: question.id)
try await chat.vote(for: 1, in: poll.id)
try await chat.send(.voice(.file(URL(filePath: arguments[4])), duration: 2.5))
await bob.waitForOutbox()

// What Alice sees.
let page = try await group.members()
let names = page.members.map { page.profiles[$0.id]?.name ?? $0.id.text }
print("\(try await group.settings().name ?? ""): \(names.joined(separator: ", "))")
for message in try await group.history(limit: 20, sort: .oldestFirst, from: .remote).messages {
    let text = message.text ?? message.content?.type.rawValue ?? "recalled"
    print("\(message.sender): \(text)\(message.thread == nil ? "" : " (in a thread)")")
}
let results = try await group.pinnedMessages().messages.first?.pollResults ?? []
print("pinned: " + results.map { "\($0.option) \($0.votes)" }.joined(separator: ", "))
await alice.close()
await bob.close()
