import Foundation

extension MessageContent {
    /// The files of custom content: the IDs and the `http` or `https` URLs in its list `files`.
    ///
    /// Other elements are ignored.
    public var files: [Media.Source] {
        guard type.isCustom else { return [] }
        var files: [Media.Source] = []
        var reader = JSONReader(json.text, field: "content")
        try? reader.object { (member, value) throws(ChatError) in
            guard member == Self.filesMember else { return try value.skip() }
            try value.array { (value) throws(ChatError) in
                var element = JSONReader(try value.raw().text)
                guard let text = try? element.string() else { return }
                if let id = try? MediaID(text) {
                    files.append(.hosted(id))
                } else if let url = try? Media.url(text) {
                    files.append(.remote(url))
                }
            }
        }
        return files
    }

    /// Checks that a member `files` is a list, and that each text in it is the ID or the URL of a file.
    ///
    /// Another value would not refer to the file, which the server then deletes as unused. Elements other than texts
    /// belong to the app.
    ///
    /// - Throws: `invalid-parameter`.
    func checkListedFiles() throws(ChatError) {
        guard json.text.utf8.firstRange(of: #""files""#.utf8) != nil else { return }
        let invalid = ChatError.invalidParameter(
            Self.filesMember, "must be a list of IDs of uploaded files, or of http or https URLs")
        var reader = JSONReader(json.text, field: "content")
        try reader.object { (member, value) throws(ChatError) in
            guard member == Self.filesMember else { return try value.skip() }
            guard value.nextIsArray else { throw invalid }
            try value.array { (element) throws(ChatError) in
                guard element.nextIsString else { return try element.skip() }
                let text = try element.string()
                guard (try? MediaID(text)) == nil, (try? Media.url(text)) == nil else { return }
                throw invalid
            }
        }
    }

    /// Returns the same content with a list of files.
    ///
    /// - Throws: `invalid-parameter` if the content already has a member `files`.
    package func with(files: [Media.Source]) throws(ChatError) -> MessageContent {
        var reader = JSONReader(json.text, field: "content")
        var isEmpty = true
        var hasFiles = false
        try reader.object { (member, value) throws(ChatError) in
            isEmpty = false
            if member == Self.filesMember { hasFiles = true }
            try value.skip()
        }
        guard !hasFiles else {
            throw .invalidParameter("content", "must not have a member \(Self.filesMember) if files are passed")
        }
        var writer = JSONWriter()
        writer.key(Self.filesMember)
        writer.array(files) { writer, source in
            switch source {
            case .hosted(let id): writer.value(id.description)
            case .remote(let url): writer.value(url.absoluteString)
            }
        }
        let end = json.text.lastIndex(of: "}") ?? json.text.endIndex
        return MessageContent(
            known: type, json: RawJSON(known: json.text[..<end] + (isEmpty ? "" : ",") + writer.text + "}"))
    }

    private static let filesMember = "files"
}

extension Media {
    /// The maximum size of a thumbnail in bytes.
    package static let largestThumbnail = 64 << 10
}
