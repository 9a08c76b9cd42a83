public import Observation
public import Scrollback

/// An observable model of a search for users, which searches while the user types.
///
/// One search is in progress at a time. A text that changes during a search is searched for afterwards.
@MainActor
@Observable
public final class DirectoryModel {
    /// The text to search for; an empty text finds no users.
    public var text = "" {
        didSet { if text != oldValue { Task { await search() } } }
    }
    /// The users that the last completed search found, sorted by user ID.
    public private(set) var people: [UserProfile] = []
    /// Whether ``loadMore()`` can load more users.
    public private(set) var hasMore = false
    /// Whether a search is in progress.
    public private(set) var isSearching = false
    /// The error of the last failed search; set it to `nil` after you show it.
    public var error: ChatError?

    @ObservationIgnored private let client: ChatClient
    @ObservationIgnored private let pageSize: Int
    /// The text that ``people`` were found with.
    @ObservationIgnored private var searched = ""
    @ObservationIgnored private var next: String?

    /// Creates a model without users.
    ///
    /// - Parameters:
    ///   - client: The client that searches.
    ///   - pageSize: The number of users in a page, 1...100; otherwise the initializer traps.
    public init(_ client: ChatClient, pageSize: Int = 20) {
        precondition((1...100).contains(pageSize), "The page size must be in 1...100.")
        self.client = client
        self.pageSize = pageSize
    }

    /// Loads the next page; has no effect if there is none, or while a search is in progress.
    public func loadMore() async {
        guard hasMore, !isSearching else { return }
        await perform { () async throws(ChatError) in try await load(searched, after: next) }
        await search()
    }

    private func search() async {
        while !isSearching, text != searched {
            let text = text
            await perform { () async throws(ChatError) in try await load(text, after: nil) }
        }
    }

    private func perform(_ search: () async throws(ChatError) -> Void) async {
        isSearching = true
        defer { isSearching = false }
        do throws(ChatError) {
            try await search()
        } catch {
            if error.code != .cancelled { self.error = error }
        }
    }

    /// Loads pages until one has users.
    private func load(_ text: String, after last: String?) async throws(ChatError) {
        // A failed search is not repeated before the text changes.
        searched = text
        var (found, next): ([UserProfile], String?) = ([], last)
        if !text.isEmpty {
            repeat {
                let page = try await client.people(matching: text, after: next, limit: pageSize)
                (found, next) = (page.people, page.next)
            } while found.isEmpty && next != nil && text == self.text
        }
        people = last == nil ? found : people + found
        self.next = next
        hasMore = next != nil
    }
}
