package import ScrollbackModel

extension UnreadTotals {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("unread", unread)
            writer.field("mentions", mentions)
            writer.key("kinds")
            writer.object { writer in
                for kind in ConversationKind.allCases where unmuted[kind] != nil || muted[kind] != nil {
                    writer.key(kind.rawValue)
                    writer.object { writer in
                        writer.field("notifying", unmuted[kind] ?? 0)
                        writer.field("muted", muted[kind] ?? 0)
                    }
                }
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "unread": _ = try value.counter()
            case "mentions": mentions = try value.total("mentions")
            case "kinds":
                try value.object { (kind, counts) throws(ChatError) in
                    // Kinds that this version does not know are skipped.
                    guard let kind = ConversationKind(rawValue: kind) else { return try counts.skip() }
                    try counts.object { (name, value) throws(ChatError) in
                        switch name {
                        case "notifying": unmuted[kind] = try value.total(name)
                        case "muted": muted[kind] = try value.total(name)
                        default: try value.skip()
                        }
                    }
                }
            default: try value.skip()
            }
        }
    }
}

extension JSONReader {
    /// Reads a number of messages, which is limited so that sums don't overflow.
    fileprivate mutating func total(_ name: String) throws(ChatError) -> Int64 {
        let value = try integer()
        guard (0...1 << 53).contains(value) else { throw .invalidParameter(name, "must be in 0...2^53") }
        return value
    }
}
