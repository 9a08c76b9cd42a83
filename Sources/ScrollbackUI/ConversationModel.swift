public import Foundation
public import Observation
public import Scrollback

/// An observable model of the screen of one conversation: its timeline, the composer and the files of its pictures.
///
/// Community channels and rooms deliver all messages and typing signals as long as the model exists.
@MainActor
@Observable
public final class ConversationModel: Hashable {
    /// The title, as it was when the conversation was opened.
    public let title: String
    /// The messages, which the model marks as read when the newest one is visible.
    public let timeline: TimelineModel
    /// The text that the user writes.
    public let composer: ComposerModel
    /// The files of the pictures that were loaded: thumbnails, or the pictures without one.
    public private(set) var pictures: [TimelineRow.ID: URL] = [:]

    /// The row to begin with: the given message, or the separator of the unread messages; `nil` for the newest one.
    ///
    /// It is set once, when the timeline contains the row. A message that is not on this device is loaded first.
    public private(set) var startRow: TimelineRow.ID?

    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private let point: HistoryPoint
    /// `nil` for kinds that deliver all messages anyway.
    @ObservationIgnored private let subscription: Conversation.Subscription?
    @ObservationIgnored private var hasStarted = false

    /// Creates a model and starts its updates.
    ///
    /// - Parameters:
    ///   - client: The client of the user.
    ///   - id: The conversation to show.
    ///   - title: The title of the screen.
    ///   - point: The start of the window: the newest message, the first unread message, or a given message.
    public init(_ client: ChatClient, _ id: ConversationID, title: String, at point: HistoryPoint = .firstUnread) {
        self.client = client
        self.title = title
        self.point = point
        let conversation = client.conversation(id)
        subscription = id.kind.traits.streamsToMembers ? nil : conversation.subscribe()
        timeline = TimelineModel(conversation, at: point, marksRead: true)
        composer = ComposerModel(timeline)
        timeline.onChange = { [weak self] in self?.findStart() }
    }

    private func findStart() {
        guard !hasStarted else { return }
        if case .id(let message) = point {
            guard timeline.row(of: message) != nil else { return }
            startRow = message.description
        } else if timeline.unreadLine != nil {
            startRow = TimelineRow.unread.id
        } else if timeline.lacksNewest {
            return
        }
        hasStarted = true
    }

    /// The names of the users who are typing.
    public var typing: [String] { timeline.typing.map { timeline.profiles.name(of: $0) } }

    /// Adds this user's reaction to a message, or removes it; the error is in ``TimelineModel/error``.
    public func toggleReaction(_ value: String, of row: MessageRow) {
        Task { try? await timeline.toggleReaction(value, of: row) }
    }

    /// Loads the picture of a row into ``pictures``; has no effect for other rows.
    ///
    /// A picture that can't be loaded stays missing, and the next call tries again.
    public func loadPicture(of row: MessageRow) async {
        guard pictures[row.id] == nil, let media = row.picture else { return }
        let thumbnail = try? await client.media.thumbnail(for: media)
        if let file = thumbnail {
            pictures[row.id] = file
        } else if let file = try? await client.media.file(for: media) {
            pictures[row.id] = file
        }
    }

    /// Returns whether two models are the same object.
    public nonisolated static func == (a: ConversationModel, b: ConversationModel) -> Bool { a === b }

    /// Hashes the identity of the object.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
