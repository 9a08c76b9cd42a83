import ScrollbackModel
import Synchronization

extension FilterRequest {
    /// Replaces the texts of a message or edit that users see.
    ///
    /// These are the members that search finds (``SearchableText/members``) and the texts of a link preview, in the
    /// content and in quoted copies at any depth. The options of a poll and the push texts of the message and of its
    /// mentions belong to them, too. Other members have meaning only for apps.
    ///
    /// - Parameter change: Returns the replacement, or `nil` to keep the text.
    /// - Returns: The content and the attributes if they changed; all other members are identical.
    func mappingTexts(
        _ change: (String) -> String?
    ) throws(ChatError) -> (content: RawJSON?, attributes: MessageAttributes?) {
        var names = Set(SearchableText.members)
        if content.type == .poll { names.insert(Poll.optionsMember) }
        let content = try content.json.mapping(names, quote: ["message", "content"], change)
        var attributes = attributes
        attributes.push = try attributes.push.map { (push) throws(ChatError) in
            try push.mapping(["title", "text"], quote: [], change) ?? push
        }
        if let mentions = attributes.mentions, let text = mentions.pushText.flatMap(change) {
            attributes.mentions = Mentions(everyone: mentions.everyone, users: mentions.users, pushText: text)
        }
        return (content, attributes == self.attributes ? nil : attributes)
    }
}

extension Engine {
    /// Checks names or a reaction with the moderation filter; imports and messages don't use this method.
    ///
    /// - Throws: `content-rejected`.
    func checkTexts(_ texts: [(parameter: String, text: String?)]) throws(ChatError) {
        let filter = filter.withLock { $0 }
        guard !filter.acceptsEverything else { return }
        for (parameter, text) in texts {
            guard let text, !filter.allows(text) else { continue }
            throw ChatError(
                .contentRejected, "The \(parameter) contains a word that this server does not allow.",
                parameter: parameter)
        }
    }
}

extension RawJSON {
    /// Returns the object with some of its strings changed and all else identical, or `nil` if no string changes.
    ///
    /// - Parameters:
    ///   - names: The members that are texts or lists of texts.
    ///   - quote: The path to a nested object with the same members.
    fileprivate func mapping(
        _ names: Set<String>, quote: [String], _ change: (String) -> String?
    ) throws(ChatError) -> RawJSON? {
        try mapping(names, quote: quote, depth: 0, change)
    }

    /// - Parameter depth: The number of elements of `quote` that led to this object.
    private func mapping(
        _ names: Set<String>, quote: [String], depth: Int, _ change: (String) -> String?
    ) throws(ChatError) -> RawJSON? {
        var reader = JSONReader(text)
        var isChanged = false
        var members: [(name: String, value: RawJSON)] = []
        try reader.object { (name, value) throws(ChatError) in
            let isText = value.nextIsString
            var member = try value.raw()
            if isText, depth == 0, names.contains(name) {
                var text = JSONReader(member.text)
                if let changed = change(try text.string()) {
                    var writer = JSONWriter()
                    writer.value(changed)
                    member = writer.json
                    isChanged = true
                }
            } else if depth == 0, names.contains(name), member.text.hasPrefix("["),
                let changed = try member.mappingElements(change)
            {
                member = changed
                isChanged = true
            } else if member.isObject, depth == 0, name == LinkPreview.member,
                let changed = try member.mapping(Set(LinkPreview.textMembers), quote: [], change)
            {
                member = changed
                isChanged = true
            } else if member.isObject, depth < quote.count, name == quote[depth],
                let changed = try member.mapping(names, quote: quote, depth: (depth + 1) % quote.count, change)
            {
                member = changed
                isChanged = true
            }
            members.append((name, member))
        }
        guard isChanged else { return nil }
        var writer = JSONWriter()
        writer.object { writer in
            for (name, value) in members {
                writer.key(escaping: name)
                writer.value(value)
            }
        }
        return writer.json
    }

    /// Returns the list with some of its strings changed, or `nil` if no string changes.
    private func mappingElements(_ change: (String) -> String?) throws(ChatError) -> RawJSON? {
        var reader = JSONReader(text)
        var isChanged = false
        var elements: [RawJSON] = []
        try reader.array { (element) throws(ChatError) in
            let isText = element.nextIsString
            elements.append(try element.raw())
            guard isText, let last = elements.last else { return }
            var text = JSONReader(last.text)
            guard let changed = change(try text.string()) else { return }
            isChanged = true
            var writer = JSONWriter()
            writer.value(changed)
            elements[elements.count - 1] = writer.json
        }
        guard isChanged else { return nil }
        var writer = JSONWriter()
        writer.array(elements) { $0.value($1) }
        return writer.json
    }
}
