package import Foundation

extension MessageContent {
    /// Returns the same content with a file replaced by its new URL.
    package func replacingFile(_ id: MediaID, with url: URL) -> MessageContent {
        if var media, media.id == id {
            media.source = .remote(url)
            // Thumbnails exist only on this server.
            media.thumbnail = nil
            return .media(type, media)
        }
        // An ID has 36 characters, which don't occur elsewhere in the content by accident.
        let quoted = "\"\(id)\""
        var writer = JSONWriter()
        writer.value(url.absoluteString)
        let text = json.text.replacingOccurrences(of: quoted, with: writer.text)
        return MessageContent(known: type, json: RawJSON(known: text))
    }
}
