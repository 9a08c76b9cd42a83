package import Foundation

extension MessageContent {
    /// The same content about the same file, which lies somewhere else now.
    package func moving(_ id: MediaID, to url: URL) -> MessageContent {
        if var media, media.id == id {
            media.source = .remote(url)
            // The small picture lies on this server or nowhere.
            media.thumbnail = nil
            return .media(type, media)
        }
        // An id is 36 characters that nothing else in the content says by accident.
        let quoted = "\"\(id)\""
        var writer = JSONWriter()
        writer.value(url.absoluteString)
        let text = json.text.replacingOccurrences(of: quoted, with: writer.text)
        return MessageContent(known: type, json: RawJSON(known: text))
    }
}
