public import Observation
public import Scrollback

/// An observable model that searches while the user types, and loads the results in pages.
///
/// One search is in progress at a time. A text that changes during a search is searched for afterwards.
@MainActor
@Observable
public class PagedSearchModel<Result: Sendable, Cursor: Sendable> {
    /// The text to search for; an empty text, or one of white space, finds nothing.
    public var text = "" {
        didSet { if text != oldValue { Task { await search() } } }
    }
    /// The results of the last search; empty if it failed.
    ///
    /// They stay while the next search is in progress, and if ``loadMore()`` fails.
    public private(set) var results: [Result] = []
    /// Whether ``loadMore()`` can load more results.
    public var hasMore: Bool { next != nil }
    /// Whether a search is in progress.
    public private(set) var isSearching = false
    /// The error of the last failed search; set it to `nil` after you show it.
    public var error: ChatError?

    @ObservationIgnored let client: ChatClient
    @ObservationIgnored let pageSize: Int
    /// The text that ``results`` were found with.
    @ObservationIgnored private var searched = ""
    private var next: Cursor?

    /// Creates a model without results.
    ///
    /// - Parameters:
    ///   - client: The client that searches.
    ///   - pageSize: The number of results in a page, 1...100; otherwise the initializer traps.
    public init(_ client: ChatClient, pageSize: Int = 20) {
        precondition((1...100).contains(pageSize), "The page size must be in 1...100.")
        self.client = client
        self.pageSize = pageSize
    }

    /// Requests a page; a subclass overrides it.
    ///
    /// - Parameters:
    ///   - text: A text that is not empty.
    ///   - cursor: The cursor of the page; `nil` for the first page.
    func page(of text: String, after cursor: Cursor?) async throws(ChatError) -> (results: [Result], next: Cursor?) {
        ([], nil)
    }

    /// Loads the next page; has no effect if there is none, or while a search is in progress.
    public func loadMore() async {
        guard let next, !isSearching else { return }
        await load(searched, after: next)
        await search()
    }

    private func search() async {
        while !isSearching, text != searched { await load(text, after: nil) }
    }

    private func load(_ text: String, after cursor: Cursor?) async {
        isSearching = true
        defer { isSearching = false }
        // A failed search is not repeated before the text changes.
        searched = text
        let old = cursor == nil ? [] : results
        do throws(ChatError) {
            var page: (results: [Result], next: Cursor?) = ([], nil)
            if !text.allSatisfy(\.isWhitespace) { page = try await self.page(of: text, after: cursor) }
            (results, next) = (old + page.results, page.next)
        } catch {
            // The results of another text must not stay, and their cursor does not fit this text.
            if cursor == nil { (results, next) = ([], nil) }
            if error.code != .cancelled { self.error = error }
        }
    }
}
