/// A file that a content refers to, with the properties that the content states.
package struct FileReference: Hashable, Sendable {
    package var id: MediaID
    /// The type of the message with this file; `nil` if the file is listed in custom content.
    package var type: MessageType?
    package var size: Int64?
    package var mediaType: String?
    /// Whether the file belongs to a quoted copy of a message; the file may no longer exist.
    package var isQuoted = false
}

extension MessageContent {
    /// The files on this server that the content refers to, each once.
    ///
    /// Text is not searched for IDs. The content must be a file, quote a message, or be custom content with a list
    /// `files`. Encrypted content of any type has such a list beside the ciphertext.
    package var fileReferences: [FileReference] {
        guard Self.mayHaveFiles(type) else { return [] }
        if encrypted != nil { return filesOfEncryptedContent }
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

    /// Returns whether ``fileReferences`` may be non-empty for a type.
    package static func mayHaveFiles(_ type: MessageType) -> Bool {
        type != .text && (type.isMedia || type == .reference || type.isCustom)
    }

    private var fileReference: FileReference? {
        guard let media, let id = media.id else { return nil }
        return FileReference(id: id, type: type, size: media.size, mediaType: media.mediaType)
    }

    private var filesOfEncryptedContent: [FileReference] {
        listedFiles.map { file in
            var file = file
            file.type = type.isMedia ? type : nil
            file.isQuoted = type == .reference
            return file
        }
    }

    /// The IDs in the member `files` if it is a list; other elements than texts belong to the app and are ignored.
    private var listedFiles: [FileReference] {
        guard json.text.utf8.count >= 50, json.text.utf8.firstRange(of: #""files""#.utf8) != nil else { return [] }
        var ids: [MediaID] = []
        var known: Set<MediaID> = []
        var reader = JSONReader(json.text, field: "content")
        try? reader.object { (member, value) throws(ChatError) in
            guard member == "files" else { return try value.skip() }
            try value.array { (element) throws(ChatError) in
                var text = JSONReader(try element.raw().text)
                if let id = try? MediaID(try text.string()), known.insert(id).inserted { ids.append(id) }
            }
        }
        return ids.map { FileReference(id: $0) }
    }
}
