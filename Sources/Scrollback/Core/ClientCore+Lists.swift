import ScrollbackModel
import ScrollbackWire

extension ClientCore {
    /// All elements of a list.
    ///
    /// - Parameter request: asks for the page after this one, or (nil) for the first.
    func all<Element: ListElement>(
        _ request: (_ page: ListPage<Element>?) throws(ChatError) -> ClientRequest
    ) async throws(ChatError) -> [Element] {
        var elements: [Element] = []
        var page: ListPage<Element>?
        repeat {
            var reader = try JSONReader(try await self.request(try request(page)))
            let next = try ListPage<Element>(from: &reader)
            elements += next.elements
            page = next
        } while page?.cursor != nil
        return elements
    }
}
