import ScrollbackModel

/// The JSON of Slack's incoming webhooks, which is converted to the text of one message.
///
/// Members that change the sender or the target, such as `username`, `icon_url` and `channel`, have no effect.
package enum SlackPayload {
    /// Slack's codes of payloads that are refused.
    package enum Failure: String, Error {
        case invalidPayload = "invalid_payload"
        case noText = "no_text"
        case tooManyAttachments = "too_many_attachments"
    }

    private static let maximumAttachments = 100

    /// Returns the text of a payload, as plain text.
    ///
    /// `blocks` replace `text`, as in Slack, and `attachments` follow it. Unknown members and unknown types of blocks
    /// are ignored. The text is not shortened. The cost is linear in the length of the payload.
    ///
    /// - Parameter json: The payload in UTF-8.
    package static func text(of json: [UInt8]) throws(Failure) -> String {
        let payload = try Value(parsing: json)
        guard payload.isObject else { throw .invalidPayload }
        let text = try markup(payload["text"])
        let blocks = try self.blocks(payload["blocks"])
        let attachments = try elements(payload["attachments"])
        guard attachments.count <= maximumAttachments else { throw .tooManyAttachments }
        var lines = [blocks.isEmpty ? text : blocks]
        for value in attachments { lines.append(try attachment(value)) }
        let result = joined(lines)
        guard result.contains(where: { !$0.isWhitespace }) else { throw .noText }
        return result
    }

    // MARK: Attachments

    private static func attachment(_ value: Value) throws(Failure) -> String {
        guard value.isObject else { throw .invalidPayload }
        var lines = [
            try markup(value["pretext"]), try plain(value["author_name"]),
            labelled(try plain(value["title"]), url: try plain(value["title_link"])), try markup(value["text"]),
        ]
        for field in try elements(value["fields"]) {
            let (title, text) = (try plain(field["title"]), try markup(field["value"]))
            lines.append(title.isEmpty || text.isEmpty ? title + text : "\(title): \(text)")
        }
        lines.append(try blocks(value["blocks"]))
        lines.append(try plain(value["image_url"]))
        for action in try elements(value["actions"]) { lines.append(try button(action)) }
        lines.append(try markup(value["footer"]))
        let result = joined(lines)
        return result.isEmpty ? try markup(value["fallback"]) : result
    }

    // MARK: Blocks

    /// The text of blocks, or an empty text if they have nothing but dividers.
    private static func blocks(_ value: Value?) throws(Failure) -> String {
        var lines: [String] = []
        var hasText = false
        for block in try elements(value) {
            guard block.isObject else { throw .invalidPayload }
            let kind = try plain(block["type"])
            let text = kind == "divider" ? "---" : try self.block(block, kind)
            hasText = hasText || kind != "divider" && !text.isEmpty
            lines.append(text)
        }
        return hasText ? joined(lines) : ""
    }

    private static func block(_ block: Value, _ kind: String) throws(Failure) -> String {
        switch kind {
        case "header": return try textObject(block["text"])
        case "section":
            var lines = [try textObject(block["text"])]
            for field in try elements(block["fields"]) { lines.append(try textObject(field)) }
            if let accessory = block["accessory"] { lines.append(try button(accessory)) }
            return joined(lines)
        case "context":
            var words: [String] = []
            for element in try elements(block["elements"]) {
                words.append(element["alt_text"] == nil ? try textObject(element) : try plain(element["alt_text"]))
            }
            return joined(words, by: " ")
        case "image":
            let title = try textObject(block["title"])
            return labelled(
                title.isEmpty ? try plain(block["alt_text"]) : title, url: try plain(block["image_url"]))
        case "actions":
            var lines: [String] = []
            for element in try elements(block["elements"]) { lines.append(try button(element)) }
            return joined(lines)
        case "markdown": return try plain(block["text"])
        case "rich_text":
            var lines: [String] = []
            for element in try elements(block["elements"]) { lines.append(try richText(element)) }
            return joined(lines)
        default: return ""
        }
    }

    /// A text object, or a string.
    private static func textObject(_ value: Value?) throws(Failure) -> String {
        guard let value, value.isObject else { return try markup(value) }
        return try plain(value["type"]) == "plain_text" ? try plain(value["text"]) : try markup(value["text"])
    }

    /// A button that opens a URL; other buttons need an app and are left out.
    private static func button(_ value: Value) throws(Failure) -> String {
        guard value.isObject else { throw .invalidPayload }
        let url = try plain(value["url"])
        return url.isEmpty ? "" : labelled(try textObject(value["text"]), url: url)
    }

    /// A section, list, quote or code block, or an element of one; the JSON bounds the depth.
    private static func richText(_ value: Value) throws(Failure) -> String {
        guard value.isObject else { throw .invalidPayload }
        switch try plain(value["type"]) {
        case "text": return try string(value["text"])
        case "link": return labelled(try string(value["text"]), url: try string(value["url"]))
        case "emoji": return ":\(try string(value["name"])):"
        case "user": return "@\(try string(value["user_id"]))"
        case "usergroup": return "@\(try string(value["usergroup_id"]))"
        case "channel": return "#\(try string(value["channel_id"]))"
        case "broadcast": return "@\(try string(value["range"]))"
        case "rich_text_list":
            var lines: [String] = []
            for element in try elements(value["elements"]) { lines.append("• \(try richText(element))") }
            return joined(lines)
        default:
            var text = ""
            for element in try elements(value["elements"]) { text += try richText(element) }
            return text
        }
    }

    // MARK: Values

    /// Joins the parts that have text, without the line breaks with which templates end them.
    private static func joined(_ parts: [String], by separator: String = "\n") -> String {
        parts.map(withoutLastLineBreaks).filter { !$0.isEmpty }.joined(separator: separator)
    }

    private static func withoutLastLineBreaks(_ text: String) -> String {
        var rest = Substring(text)
        while rest.last?.isNewline ?? false { rest.removeLast() }
        return String(rest)
    }

    private static func labelled(_ label: String, url: String) -> String {
        url.isEmpty || url == label ? label : label.isEmpty ? url : "\(label) (\(url))"
    }

    private static func markup(_ value: Value?) throws(Failure) -> String {
        SlackMarkup.plainText(try string(value))
    }

    private static func plain(_ value: Value?) throws(Failure) -> String {
        SlackMarkup.unescaped(try string(value))
    }

    /// A string, or the text of a number or flag, which scripts use as values of fields.
    private static func string(_ value: Value?) throws(Failure) -> String {
        switch value {
        case nil, .null: return ""
        case .text(let text), .scalar(let text): return text
        case .object, .array: throw .invalidPayload
        }
    }

    private static func elements(_ value: Value?) throws(Failure) -> [Value] {
        switch value {
        case nil, .null: return []
        case .array(let elements): return elements
        case .text, .scalar, .object: throw .invalidPayload
        }
    }
}

extension SlackPayload {
    /// A JSON value.
    ///
    /// The type of a block can follow its other members, so they are read first.
    private indirect enum Value {
        case null
        case text(String)
        /// A number or a flag, as it is written.
        case scalar(String)
        case array([Value])
        case object([String: Value])

        init(parsing json: [UInt8]) throws(Failure) {
            do throws(ChatError) {
                var reader = try JSONReader(json)
                self = try Value(from: &reader)
                try reader.end()
            } catch {
                throw .invalidPayload
            }
        }

        private init(from reader: inout JSONReader) throws(ChatError) {
            if try reader.null() {
                self = .null
            } else if reader.nextIsString {
                self = .text(try reader.string())
            } else if reader.nextIsArray {
                var elements: [Value] = []
                try reader.array { (element) throws(ChatError) in elements.append(try Value(from: &element)) }
                self = .array(elements)
            } else if reader.nextIsObject {
                var members: [String: Value] = [:]
                try reader.object { (name, value) throws(ChatError) in members[name] = try Value(from: &value) }
                self = .object(members)
            } else {
                self = .scalar(try reader.raw().text)
            }
        }

        var isObject: Bool {
            if case .object = self { true } else { false }
        }

        subscript(name: String) -> Value? {
            if case .object(let members) = self { members[name] } else { nil }
        }
    }
}
