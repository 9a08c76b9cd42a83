public import Foundation
public import Observation
public import Scrollback

/// An observable model of the field in which the user writes messages, replies and edits.
///
/// The model restores the conversation's draft, and stores it while the user types. It signals typing to other members.
@MainActor
@Observable
public final class ComposerModel {
    /// The text that the user writes.
    public var text = "" {
        didSet { if text != oldValue { textChanged() } }
    }
    /// The message that the next one replies to.
    public private(set) var replyTo: MessageID?
    /// The message that the text replaces; `nil` for a new message.
    public private(set) var editing: MessageID?
    /// The members whose names begin with the word after the last `@`, at most five; empty without such a word.
    ///
    /// They are among the first 100 members, sorted by user ID.
    public private(set) var suggestions: [UserProfile] = []
    /// The error of the last failed call; set it to `nil` after you show it.
    public var error: ChatError?

    /// Whether ``send()`` has an effect.
    public var canSend: Bool { !text.allSatisfy(\.isWhitespace) }
    /// The row of the message that the text replies to or replaces; `nil` if the timeline doesn't contain it.
    public var subject: MessageRow? { (editing ?? replyTo).flatMap { timeline.row(of: $0) } }
    /// Whether the text replies to a message or replaces one, which ``cancel()`` ends.
    public var hasSubject: Bool { editing != nil || replyTo != nil }

    @ObservationIgnored private let timeline: TimelineModel
    @ObservationIgnored private let pause: Duration
    /// The names of the users that were inserted as mentions.
    @ObservationIgnored private var mentioned: [UserID: String] = [:]
    @ObservationIgnored private var members: [UserProfile] = []
    /// Whether the text ends with `@` and a part of a word.
    @ObservationIgnored private var isMentioning = false
    /// The text of the draft while a message is edited.
    @ObservationIgnored private var kept = ""
    /// The draft as it is stored.
    @ObservationIgnored private var stored: Draft?
    @ObservationIgnored private var isRestored = false
    /// Whether the text is being set to that of the draft, which is not the user's typing.
    @ObservationIgnored private var isRestoring = false
    @ObservationIgnored private var isStoring = false

    private var conversation: Conversation { timeline.conversation }

    /// Creates a model and restores the conversation's draft.
    ///
    /// - Parameters:
    ///   - timeline: The timeline of the conversation.
    ///   - pause: The time between two changes of the stored draft.
    public init(_ timeline: TimelineModel, pause: Duration = .milliseconds(500)) {
        self.timeline = timeline
        self.pause = pause
        Task { await restoreDraft() }
    }

    // MARK: Actions

    /// Sends the text, without white space around it, as a message or an edit, and clears it.
    ///
    /// If the call fails, ``error`` is set and the text returns. The server can still reject it: a message's row shows
    /// that, and for an edit, ``TimelineModel/error`` is set.
    public func send() async {
        guard canSend else { return }
        let (text, replyTo, editing, mentioned, mentions) = (text, replyTo, editing, mentioned, mentions)
        let content = MessageContent.text(text.trimmingCharacters(in: .whitespacesAndNewlines))
        clear()
        do throws(ChatError) {
            if let editing {
                let change = try await conversation.edit(
                    editing, to: content, mentioning: Self.adding(mentions, to: timeline.mentions(of: editing)))
                // An unsent message was changed in place, and its row shows whether it is sent.
                if change.id != editing { timeline.report(change) }
            } else {
                _ = try await conversation.send(content, mentioning: mentions, replyingTo: replyTo)
            }
        } catch {
            self.error = error
            guard self.editing == nil, editing != nil || self.text.isEmpty else { return }
            if editing != nil { kept = self.text }
            (self.replyTo, self.editing, self.mentioned) = (replyTo, editing, mentioned)
            self.text = text
        }
    }

    /// Sends an image, as a reply if the user replies to a message; the text stays.
    ///
    /// If the image can't be sent, ``error`` is set.
    ///
    /// - Parameter data: An image in a format that ``MediaAttachment/image(_:original:keepsLocation:)`` accepts.
    public func sendPicture(_ data: Data) async {
        let replyTo = replyTo
        do throws(ChatError) {
            _ = try await conversation.send(.image(.data(data)), replyingTo: replyTo)
            // The user can begin another reply while the image is prepared.
            guard self.replyTo == replyTo else { return }
            self.replyTo = nil
            storeDraft()
        } catch {
            self.error = error
        }
    }

    /// Makes the text a reply to a message.
    public func reply(to row: MessageRow) {
        cancel()
        replyTo = row.message
        storeDraft()
    }

    /// Replaces the text with that of a message, which the next ``send()`` edits.
    ///
    /// The previous text returns when the edit is sent or cancelled. Has no effect for a message without a text.
    public func edit(_ row: MessageRow) {
        guard let content = row.content?.text else { return }
        cancel()
        kept = text
        editing = row.message
        text = content
    }

    /// Ends the reply or the edit.
    public func cancel() {
        replyTo = nil
        editing != nil ? endEdit() : storeDraft()
    }

    /// Completes the name of a user from ``suggestions``, whom the message then mentions.
    public func mention(_ user: UserProfile) {
        guard let start = text.lastIndex(of: "@") else { return }
        let name = user.name ?? user.id.text
        mentioned[user.id] = name
        text = text[..<start] + "@\(name) "
    }

    // MARK: State

    private func clear() {
        if editing != nil { return endEdit() }
        replyTo = nil
        mentioned = [:]
        text = ""
    }

    private func endEdit() {
        text = kept
        editing = nil
        kept = ""
        storeDraft()
    }

    /// The users whose inserted names are still in the text.
    private var mentions: Mentions? {
        let users = mentioned.filter { text.contains("@\($0.value)") }.keys.sorted()
        return users.isEmpty ? nil : .users(users)
    }

    /// The mentions of an edited message: those that it had, and those that were inserted.
    private static func adding(_ new: Mentions?, to old: Mentions?) -> MessageEdit.Change<Mentions> {
        guard let new else { return .keep }
        let known = old?.users ?? []
        return .set(
            Mentions(
                everyone: old?.everyone ?? false, users: known + new.users.filter { !known.contains($0) },
                pushText: old?.pushText))
    }

    private func textChanged() {
        guard !isRestoring else { return }
        conversation.setTyping(!text.isEmpty)
        suggest()
        storeDraft()
    }

    private func suggest() {
        let word = text.lastIndex(of: "@").flatMap { start -> Substring? in
            let begins = start == text.startIndex || text[text.index(before: start)].isWhitespace
            let word = text[text.index(after: start)...]
            return begins && !word.contains(where: \.isWhitespace) ? word : nil
        }
        // Members can join and leave, so each word loads them again.
        if word != nil, !isMentioning { loadMembers() }
        isMentioning = word != nil
        let found = members.filter { member in
            guard let word, member.id != conversation.user else { return false }
            return [member.name, member.id.text].contains { $0?.lowercased().hasPrefix(word.lowercased()) ?? false }
        }
        let suggestions = Array(found.prefix(5))
        if self.suggestions != suggestions { self.suggestions = suggestions }
    }

    private func loadMembers() {
        Task { [weak self, conversation] in
            let members = await Self.members(of: conversation)
            self?.members = members
            self?.suggest()
        }
    }

    /// Returns up to 100 members; direct conversations and rooms have no list of members.
    private static func members(of conversation: Conversation) async -> [UserProfile] {
        guard conversation.id.peer == nil, let page = try? await conversation.members() else { return [] }
        return page.members.map { page.profiles[$0.id] ?? UserProfile(id: $0.id) }
    }

    // MARK: Draft

    private var draft: Draft? {
        text.isEmpty && replyTo == nil ? nil : Draft(text, mentions: mentions, replyTo: replyTo)
    }

    private func restoreDraft() async {
        stored = try? await conversation.draft()
        let names = await names(in: stored)
        let isUnused = text.isEmpty && !hasSubject
        if let stored, isUnused {
            isRestoring = true
            replyTo = stored.replyTo
            mentioned = names
            text = stored.text
            isRestoring = false
        }
        isRestored = true
        if !isUnused { storeDraft() }
    }

    /// Returns the names with which a draft mentions users, as far as this device knows them.
    ///
    /// It does not ask the server, so that the draft returns before the user types. A mention under an unknown name has
    /// an empty one, and stays as long as the text has an `@`.
    private func names(in draft: Draft?) async -> [UserID: String] {
        guard let draft, let users = draft.mentions?.users else { return [:] }
        let known = (try? await conversation.core.knownPeople(Set(users))) ?? [:]
        var found: [UserID: String] = [:]
        for user in users {
            let names = [known[user]?.name, user.text].compactMap { $0 }
            found[user] = names.first { draft.text.contains("@\($0)") } ?? ""
        }
        return found
    }

    /// Stores the draft if it changed, one change at a time.
    private func storeDraft() {
        guard isRestored, !isStoring, editing == nil, draft != stored else { return }
        isStoring = true
        Task {
            defer { isStoring = false }
            while editing == nil, draft != stored {
                let draft = draft
                do throws(ChatError) {
                    try await conversation.setDraft(draft)
                } catch {
                    self.error = error
                    return
                }
                stored = draft
                try? await Task.sleep(for: pause)
            }
        }
    }
}
