import Foundation
import Scrollback
import ScrollbackUI

// The settings, texts and symbols of the app, without SwiftUI: CI compiles this file on Linux. To translate the app,
// translate this file and the titles in the views.

extension SessionModel {
    /// The session at the start of the app, with the server and the token of the environment.
    static func starter() -> SessionModel {
        let environment = ProcessInfo.processInfo.environment
        let support = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return SessionModel(
            server: environment["SCROLLBACK_SERVER"] ?? "http://127.0.0.1:8080",
            token: environment["SCROLLBACK_TOKEN"] ?? "",
            folder: support?.appending(component: "Scrollback"))
    }
}

extension ChatError? {
    /// Whether there is an error; set it to `false` to remove the error.
    var isShown: Bool {
        get { self != nil }
        set { if !newValue { self = nil } }
    }
}

extension ConnectionState {
    /// The text above the list of conversations; `nil` while the client is connected.
    var banner: String? {
        switch self {
        case .online: nil
        case .idle, .connecting: "Connecting …"
        case .waiting: "No connection. Messages are sent later."
        case .rejected(let error): error.message
        }
    }
}

extension MessageContent {
    /// The content in one line.
    var summary: String {
        switch type {
        case .image, .gif: "Picture"
        case .voice: "Voice message"
        case .video: "Video"
        case .file: media?.name ?? "File"
        case .poll: poll?.question ?? "Poll"
        case .location: location?.name ?? "Location"
        default: text ?? "Unknown message"
        }
    }
}

extension String {
    /// The name of a user or conversation for a longer text, whose order a name from right to left does not change.
    var isolated: String { "\u{2068}\(self)\u{2069}" }
}

extension ConversationListModel {
    /// A line in place of an empty list; `nil` if there are conversations, or if they are still being loaded.
    var notice: String? { rows.isEmpty && recents.hasLoadedAll ? "No conversations" : nil }
}

extension ConversationRow {
    /// The line below the title.
    var subtitle: String {
        switch line {
        case .typing(let names): names.typing
        case .draft(let text): "Draft: \(text)"
        case .message(let message, let sender):
            (sender.map { "\($0.isolated): " } ?? "") + (message.content?.summary ?? "Deleted message")
        case .empty: "No messages"
        }
    }

    /// The time of the last message; empty without one.
    var time: String { date?.formatted(date: .abbreviated, time: .shortened) ?? "" }

    /// The number of unread messages, or a dot if the conversation is unread without them.
    var badge: String { unread > 0 ? "\(unread)" : "•" }
    /// The badge in words, for VoiceOver.
    var badgeTitle: String { unread > 0 ? "Unread: \(unread)" : hasMention ? "Unread" : "Marked as unread" }
    var muteTitle: String { isMuted ? "Unmute" : "Mute" }
    var pinTitle: String { isPinned ? "Unpin" : "Pin" }
}

extension [String] {
    /// The names of the users who are typing as a text; empty without users.
    var typing: String { isEmpty ? "" : map(\.isolated).joined(separator: ", ") + " …" }
}

extension MessageRow {
    /// The text in the bubble; `nil` for a picture.
    var text: String? {
        guard let content else { return "Deleted message" }
        return picture == nil ? content.summary : nil
    }

    /// The time, and whether the message was edited or has replies; the reason if it was not sent.
    var footnote: String {
        if case .failed(let error) = delivery { return "Not sent: \(error.message)" }
        let time = date.formatted(date: .omitted, time: .shortened)
        return time + (isEdited ? " · edited" : "") + (replies > 0 ? " · replies: \(replies)" : "")
    }
}

extension MessageRow.Reference {
    /// The quoted message in one line.
    var summary: String { "\(senderName?.isolated ?? "Reply"): \(content?.summary ?? "…")" }
}

extension MessageRow.Reaction {
    var title: String { "\(id) \(count)" }
    /// The name of the button, for VoiceOver.
    var label: String { isOwn ? "\(title), with yours" : title }
}

extension MessageRow.Delivery {
    /// The name of a system symbol.
    var symbol: String {
        switch self {
        case .waiting: "clock"
        case .uploading, .sending: "arrow.up.circle"
        case .failed: "exclamationmark.circle"
        case .sent: "checkmark"
        case .delivered: "checkmark.circle"
        case .read: "checkmark.circle.fill"
        }
    }

    /// The state in words, for VoiceOver.
    var title: String {
        switch self {
        case .waiting: "Waiting"
        case .uploading(let fraction): "Uploading, \(fraction.formatted(.percent.precision(.fractionLength(0))))"
        case .sending: "Sending"
        case .failed(let error): "Failed: \(error.message)"
        case .sent: "Sent"
        case .delivered: "Delivered"
        case .read: "Read"
        }
    }
}

extension ComposerModel {
    /// The line above the field while the user replies or edits.
    var subjectTitle: String {
        "\(editing == nil ? "Reply" : "Edit"): \(subject?.content?.summary ?? "…")"
    }
}

extension UserProfile {
    var title: String { name ?? id.text }
    var addTitle: String { "Add \(title.isolated)" }
    var removeTitle: String { "Remove \(title.isolated)" }
}

extension SearchModel.Row {
    var heading: String { "\(title.isolated) · \(senderName.isolated)" }

    /// The text with the matches in bold, on Apple platforms.
    var highlighted: AttributedString {
        var result = AttributedString(text)
        for range in highlights {
            guard let range = Range<AttributedString.Index>(range, in: result) else { continue }
            #if canImport(Darwin)
                result[range].inlinePresentationIntent = .stronglyEmphasized
            #else
                _ = range
            #endif
        }
        return result
    }
}

extension SearchModel {
    /// A line above the results; `nil` if they are complete, or not there yet.
    var notice: String? {
        if isLocal { return "Only messages on this device were searched." }
        return results.isEmpty && !isSearching ? "No messages" : nil
    }
}
