import Foundation

extension MessageContent {
    /// Returns the same content with another source of a file.
    package func replacingFile(_ id: MediaID, with source: Media.Source) -> MessageContent {
        if var media, media.id == id {
            media.source = source
            // Thumbnails exist only on this server.
            if media.id == nil { media.thumbnail = nil }
            return .media(type, media)
        }
        // An ID has 36 characters, which don't occur elsewhere in the content by accident.
        let quoted = "\"\(id)\""
        var writer = JSONWriter()
        switch source {
        case .hosted(let id): writer.value(id.description)
        case .remote(let url): writer.value(url.absoluteString)
        }
        let text = json.text.replacingOccurrences(of: quoted, with: writer.text)
        return MessageContent(known: type, json: RawJSON(known: text))
    }
}
