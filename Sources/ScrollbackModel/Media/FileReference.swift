/// A file that a content refers to, and what it says of it.
package struct FileReference: Hashable, Sendable {
    package var id: MediaID
    /// The type of message it is the file of; absent where it is one of an app's own content.
    package var type: MessageType?
    package var size: Int64?
    package var mediaType: String?
    /// Whether it is a copy of what somebody said: it may be gone by now.
    package var isQuoted = false
}

extension MessageContent {
    /// The files on this server that it refers to, each once.
    ///
    /// A text is not looked at: only what is a file, quotes a message, or is an app's own content with a list `files`. Beside
    /// what is encrypted stands a list of that name too, whatever its type.
    package var fileReferences: [FileReference] {
        guard Self.mayHaveFiles(type) else { return [] }
        if encrypted != nil { return filesBesideEncrypted }
        switch type {
        case _ where type.isMedia: return fileReference.map { [$0] } ?? []
        case .reference:
            guard let quoted = quote?.content, quoted.type != .reference else { return [] }
            return quoted.fileReferences.map { file in
                var file = file
                file.isQuoted = true
                return file
            }
        case _ where type.isCustom: return listedFiles
        default: return []
        }
    }

    /// Whether ``fileReferences`` may have any, by the type alone.
    package static func mayHaveFiles(_ type: MessageType) -> Bool {
        type != .text && (type.isMedia || type == .reference || type.isCustom)
    }

    private var fileReference: FileReference? {
        guard let media, let id = media.id else { return nil }
        return FileReference(id: id, type: type, size: media.size, mediaType: media.mediaType)
    }

    private var filesBesideEncrypted: [FileReference] {
        listedFiles.map { file in
            var file = file
            file.type = type.isMedia ? type : nil
            file.isQuoted = type == .reference
            return file
        }
    }

    /// The ids in a member `files` that is a list; what else an app puts there, or calls by that name, is its own.
    private var listedFiles: [FileReference] {
        guard json.text.utf8.count >= 50, json.text.utf8.firstRange(of: #""files""#.utf8) != nil else { return [] }
        var ids: [MediaID] = []
        var reader = JSONReader(json.text, field: "content")
        try? reader.object { (member, value) throws(ChatError) in
            guard member == "files" else { return try value.skip() }
            try value.array { (element) throws(ChatError) in
                var text = JSONReader(try element.raw().text)
                if let id = try? MediaID(try text.string()), !ids.contains(id) { ids.append(id) }
            }
        }
        return ids.map { FileReference(id: $0) }
    }
}
