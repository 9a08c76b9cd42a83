import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Members: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, add or remove members of a conversation.",
        discussion: """
            With the demo community of `make run`:
              scrollback members group:albatross --as alice
              scrollback members group:albatross --as alice --add mei --role moderator
              scrollback members group:albatross --as alice --remove mei
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user who lists or changes members.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Add this user. If the user is a member, only the role changes.", transform: ScrollbackCLI.user)
    var add: UserID?

    @Option(help: "Remove this user.", transform: ScrollbackCLI.user)
    var remove: UserID?

    @Option(
        help: "The role for --add: member, moderator or owner.",
        transform: { text in
            guard let role = Role(rawValue: text) else {
                throw ValidationError("--role must be one of \(Role.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            return role
        })
    var role: Role?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard add == nil || remove == nil else { throw ValidationError("Specify either --add or --remove.") }
        guard role == nil || add != nil else { throw ValidationError("--role requires --add.") }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            if let add {
                try await api.perform("PUT", path(of: add)) { $0.field("role", role?.rawValue) }
                show(add, "is a member")
            } else if let remove {
                try await api.perform("DELETE", path(of: remove))
                show(remove, "is no longer a member")
            } else {
                try await list(api)
            }
        }
    }

    private func path(of user: UserID) -> String {
        ServerAPI.path(conversation.id, "/members/\(ServerAPI.escape(user))")
    }

    private func show(_ user: UserID, _ text: String) {
        guard connection.json else { return Output.line("\(user) \(text) of \(conversation.id)") }
        Output.json { writer in
            writer.field("conversation", conversation.id)
            writer.field("user", user)
            writer.field("member", user == add)
            writer.field("role", role?.rawValue)
        }
    }

    private func list(_ api: ServerAPI) async throws {
        var after: UserID?
        repeat {
            let cursor = after.map { "&cursor=\(ServerAPI.escape($0))" } ?? ""
            let page = try await api.object("GET", ServerAPI.path(conversation.id, "/members?limit=100\(cursor)")) {
                (reader) throws(ChatError) in try ListPage<Member>(from: &reader)
            }
            for member in page.elements {
                if connection.json {
                    var writer = JSONWriter()
                    member.write(to: &writer)
                    Output.json(writer)
                } else {
                    let mute =
                        switch member.mute {
                        case .until(let date): ", muted until \(date.iso8601)"
                        case .forever: ", muted"
                        case nil: ""
                        }
                    Output.line("\(member.id)  \(member.role.rawValue)\(mute)")
                }
            }
            after = try page.after()
        } while after != nil
    }
}

struct Receipts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the users who have read or received a message.",
        discussion: """
            The list excludes the sender and users who could not see the message. Direct conversations and groups of \
            at most 20 members have delivery receipts. With the demo community of `make run`:
              scrollback receipts group:albatross seq:61 --as bob
              scrollback receipts group:albatross seq:61 --delivered --as bob
            """)

    @OptionGroup var conversation: ConversationArgument
    @OptionGroup var message: MessageArgument

    @Option(name: .customLong("as"), help: "The user who requests the list.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "List the users whose devices have received the message.")
    var delivered = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            let path = ServerAPI.path(conversation.id, "/messages/\(try await message.id(in: conversation.id, api))")
            if delivered {
                try await list(api, "\(path)/recipients") { (recipient: MessageRecipient) in
                    show(recipient.id, "deliveredSeq", "received to", recipient.deliveredSeq)
                }
            } else {
                try await list(api, "\(path)/readers") { (reader: MessageReader) in
                    show(reader.id, "readSeq", "read to", reader.readSeq)
                }
            }
        }
    }

    private func list<Element: ListElement>(
        _ api: ServerAPI, _ path: String, show: (Element) -> Void
    ) async throws {
        var after: UserID?
        repeat {
            let cursor = after.map { "&cursor=\(ServerAPI.escape($0))" } ?? ""
            let page = try await api.object("GET", "\(path)?limit=100\(cursor)") { (reader) throws(ChatError) in
                try ListPage<Element>(from: &reader)
            }
            page.elements.forEach(show)
            after = try page.after()
        } while after != nil
    }

    private func show(_ user: UserID, _ member: String, _ text: String, _ seq: Seq) {
        guard connection.json else { return Output.line("\(user)  \(text) \(seq)") }
        Output.json { writer in
            writer.field("user", user)
            writer.field(member, seq)
        }
    }
}
