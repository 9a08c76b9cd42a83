import ScrollbackModel
import ScrollbackWire

extension ClientCore {
    /// Gets all elements of a list, page by page.
    func all<Element: ListElement, Request: ClientOperation>(
        _ operation: (Paging) -> Request
    ) async throws(ChatError) -> [Element] where Request.Answer == ListPage<Element> {
        var elements: [Element] = []
        var cursor: String?
        repeat {
            let page = try await perform(operation(Paging(limit: Limits.standard.pageSize, cursor: cursor)))
            elements += page.elements
            cursor = page.cursor
        } while cursor != nil
        return elements
    }
}
