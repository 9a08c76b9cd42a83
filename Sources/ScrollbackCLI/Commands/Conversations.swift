import ArgumentParser
import Foundation
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Conversations: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conversation",
        abstract: "Create, show, change and delete conversations.",
        subcommands: [Create.self, Show.self, Change.self, Remove.self, Channels.self])

    /// The settings that creating and changing have in common.
    struct SettingOptions: ParsableArguments {
        @Option(help: "The display name. An empty text removes it.")
        var name: String?

        @Option(help: "The URL of the picture. An empty text removes it.")
        var avatar: String?

        @Option(help: "What new members see: sinceJoin or everything.")
        var history: String?

        @Option(help: "Any JSON object of the app.")
        var metadata: String?

        @Flag(inversion: .prefixedNo, help: "Whether only moderators and owners can write.")
        var frozen: Bool?

        @Flag(inversion: .prefixedNo, help: "Whether a channel of a community has members of its own.")
        var `private`: Bool?

        func settings(members: [UserID] = []) throws(ChatError) -> ConversationSettings {
            let visibility = try history.map { (text) throws(ChatError) in
                guard let visibility = HistoryVisibility(rawValue: text) else {
                    throw .invalidParameter("history", "must be sinceJoin or everything")
                }
                return visibility
            }
            return ConversationSettings(
                name: name, avatar: avatar,
                metadata: try metadata.map { (text) throws(ChatError) in try RawJSON(text) },
                visibility: visibility, isPrivate: `private`, members: members, isFrozen: frozen)
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a conversation, which must not exist yet.",
            discussion: """
                Everyone can create groups. Without a conversation, the group gets a random ID. Owners of a community \
                create its channels; communities and rooms require an administrator's token.

                Examples:
                  scrollback conversation create group:climbing --name Climbing --member bob --as alice
                  scrollback conversation create --name Climbing --member bob --member carol --as alice
                """)

        @Argument(
            help: "The conversation: group:climbing, community:city, community:city/news or room:lobby.",
            transform: { text in try checked { () throws(ChatError) in try ConversationID(text) } })
        var conversation: ConversationID?

        @Option(name: .customLong("as"), help: "The user who creates it.", transform: ScrollbackCLI.user)
        var user: UserID

        @Option(
            name: .customLong("member"), help: "A first member; can be given several times.",
            transform: ScrollbackCLI.user)
        var members: [UserID] = []

        @OptionGroup var options: SettingOptions
        @OptionGroup var connection: ConnectionOptions

        func run() async throws {
            try await reporting {
                let id = conversation ?? .newGroup()
                let settings = try options.settings(members: members)
                let api = try await connection.api(as: user)
                try await api.perform("PUT", ServerAPI.path(id)) { writer in
                    settings.writeMembers(to: &writer)
                    writer.field("exists", false)
                }
                guard connection.json else { return Output.line("created \(id)") }
                Output.json { $0.field("conversation", id) }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a conversation's settings.",
            discussion: """
                With the demo community of `make run`:
                  scrollback conversation show group:albatross --as alice
                """)

        @OptionGroup var conversation: ConversationArgument

        @Option(name: .customLong("as"), help: "The user who requests them.", transform: ScrollbackCLI.user)
        var user: UserID

        @OptionGroup var connection: ConnectionOptions

        func run() async throws {
            try await reporting {
                let api = try await connection.api(as: user)
                let answer = try await api.object("GET", ServerAPI.path(conversation.id)) {
                    (reader) throws(ChatError) in try GetConversation.Answer(from: &reader)
                }
                var writer = JSONWriter()
                writer.object { writer in
                    writer.field("conversation", conversation.id)
                    answer.settings?.writeMembers(to: &writer)
                }
                Output.json(writer)
            }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a conversation's settings, which requires the owner role.",
            discussion: """
                With the demo community of `make run`:
                  scrollback conversation change group:albatross --name Albatrosses --as alice
                """)

        @OptionGroup var conversation: ConversationArgument

        @Option(name: .customLong("as"), help: "The user who changes it.", transform: ScrollbackCLI.user)
        var user: UserID

        @OptionGroup var options: SettingOptions
        @OptionGroup var connection: ConnectionOptions

        func run() async throws {
            try await reporting {
                let settings = try options.settings()
                let api = try await connection.api(as: user)
                try await api.perform("PUT", ServerAPI.path(conversation.id)) { writer in
                    settings.writeMembers(to: &writer)
                    writer.field("exists", true)
                }
                guard connection.json else { return Output.line("changed \(conversation.id)") }
                Output.json { $0.field("conversation", conversation.id) }
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Delete a conversation and its messages for everyone, which requires the owner role.",
            discussion: """
                Example:
                  scrollback conversation delete group:climbing --as alice
                """)

        @OptionGroup var conversation: ConversationArgument

        @Option(name: .customLong("as"), help: "The user who deletes it.", transform: ScrollbackCLI.user)
        var user: UserID

        @OptionGroup var connection: ConnectionOptions

        func run() async throws {
            try await reporting {
                try await connection.api(as: user).perform("DELETE", ServerAPI.path(conversation.id))
                guard connection.json else { return Output.line("deleted \(conversation.id)") }
                Output.json { $0.field("conversation", conversation.id) }
            }
        }
    }

    struct Channels: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the channels of a community that a user may see.",
            discussion: """
                Example:
                  scrollback conversation channels community:city --as alice
                """)

        @OptionGroup var conversation: ConversationArgument

        @Option(name: .customLong("as"), help: "The user who lists them.", transform: ScrollbackCLI.user)
        var user: UserID

        @OptionGroup var connection: ConnectionOptions

        func run() async throws {
            try await reporting {
                guard conversation.id.kind == .community else {
                    throw ChatError.invalidParameter("conversation", "must be a community, such as community:city")
                }
                let api = try await connection.api(as: user)
                let path = "/v1/communities/\(ServerAPI.escape(conversation.id.target))/channels?limit=100"
                var after: Identifier?
                repeat {
                    let cursor = after.map { "&cursor=\(ServerAPI.escape($0))" } ?? ""
                    let page = try await api.object("GET", path + cursor) { (reader) throws(ChatError) in
                        try ListChannels.Answer(from: &reader)
                    }
                    for channel in page.channels {
                        if connection.json {
                            Output.json { channel.writeMembers(to: &$0) }
                        } else {
                            Output.line("\(channel.conversation)  \(channel.name ?? "")")
                        }
                    }
                    after = page.next
                } while after != nil
            }
        }
    }
}
