import ArgumentParser
import Scrollback
import ScrollbackModel
import ScrollbackWire

struct Threads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the threads of a conversation, or follow and read a thread.",
        discussion: """
            The thread with the newest reply comes first. A thread is named by its first message.

            With the demo community of `make run`, where the first command begins a thread:
              scrollback send group:albatross "On my way" --reply-to seq:61 --as mei
              scrollback threads group:albatross --as bob
              scrollback threads group:albatross --read seq:61 --as bob
              scrollback threads group:albatross --follow seq:61 --as alice
              scrollback threads group:albatross --followed --as alice
            """)

    @OptionGroup var conversation: ConversationArgument

    @Option(name: .customLong("as"), help: "The user who lists, follows or reads.", transform: ScrollbackCLI.user)
    var user: UserID

    @Flag(help: "List only the threads that the user follows.")
    var followed = false

    @Option(help: ArgumentHelp("Follow this thread: the ID of its first message, or seq:N.", valueName: "message"))
    var follow: String?

    @Option(help: ArgumentHelp("Stop following this thread.", valueName: "message"))
    var unfollow: String?

    @Option(help: ArgumentHelp("Mark the replies of this thread as read.", valueName: "message"))
    var read: String?

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard [followed, follow != nil, unfollow != nil, read != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("Specify only one of --followed, --follow, --unfollow and --read.")
        }
    }

    func run() async throws {
        try await reporting {
            let api = try await connection.api(as: user)
            if let follow {
                try await change(follow, ThreadChange(isFollowed: true), api)
            } else if let unfollow {
                try await change(unfollow, ThreadChange(isFollowed: false), api)
            } else if let read {
                let state = try await api.head(of: conversation.id).state
                try await change(
                    read, ThreadChange(read: EpochPosition(seq: state.head, epoch: state.epoch)), api)
            } else {
                try await list(api)
            }
        }
    }

    private func change(_ thread: String, _ change: ThreadChange, _ api: ServerAPI) async throws {
        let id = try await MessageArgument.id(thread, in: conversation.id, api)
        let state = try await api.object("PUT", ServerAPI.path(conversation.id, "/threads/\(id)")) {
            change.writeMembers(to: &$0)
        } read: { (reader) throws(ChatError) in
            try ThreadState(from: &reader)
        }
        if connection.json {
            Output.json { state.writeMembers(to: &$0) }
        } else {
            Output.line(Self.line(state))
        }
    }

    private static func line(_ state: ThreadState) -> String {
        let mentions = state.mentions > 0 ? ", \(state.mentions) mentions" : ""
        return "\(state.thread)  \(state.isFollowed ? "followed" : "not followed"), \(state.unread) unread\(mentions)"
    }

    private func list(_ api: ServerAPI) async throws {
        let encryption = try connection.messageEncryption(for: user)
        var cursor = ""
        repeat {
            let path = ServerAPI.path(
                conversation.id, "/threads?limit=100\(followed ? "&followed=true" : "")\(cursor)")
            let page = try await api.object("GET", path) { (reader) throws(ChatError) in
                try ListThreads.Answer(from: &reader)
            }
            for thread in page.threads {
                var thread = thread
                thread.parent = encryption.open(thread.parent)
                thread.lastReply = thread.lastReply.map { encryption.open($0) }
                show(thread)
            }
            cursor = page.next.map { "&cursor=\($0)" } ?? ""
        } while !cursor.isEmpty
    }

    private func show(_ thread: MessageThread) {
        guard !connection.json else { return Output.json { thread.writeMembers(to: &$0) } }
        Output.show(thread.parent, json: false)
        Output.line("  " + Self.line(thread.state))
    }
}
