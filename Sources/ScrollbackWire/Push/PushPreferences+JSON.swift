package import ScrollbackModel

extension PushPreferences {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("language", language)
            writer.field("showsDetail", showsDetail)
            writer.field("level", level?.rawValue)
            if let quietHours {
                writer.key("quietHours")
                quietHours.write(to: &writer)
            }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        PushPreferencesChange.apply(try PushPreferencesChange(from: &reader), to: &self)
    }
}

/// A change of push preferences: absent members stay unchanged, and `null` resets a member.
package struct PushPreferencesChange: Hashable, Sendable {
    private var language: String??
    private var showsDetail: Bool?
    private var level: NotificationLevel??
    private var quietHours: QuietHours??

    /// Creates a change of all preferences.
    package init(to preferences: PushPreferences) {
        language = .some(preferences.language)
        showsDetail = preferences.showsDetail
        level = .some(preferences.level)
        quietHours = .some(preferences.quietHours)
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "language": language = .some(try value.null() ? nil : value.string())
            case "showsDetail": showsDetail = try value.bool()
            case "level": level = .some(try value.null() ? nil : value.choice("push.level") as NotificationLevel)
            case "quietHours": quietHours = .some(try value.null() ? nil : Self.hours(&value))
            default: try value.skip()
            }
        }
        if case .some(let language?) = language { try PushLanguage.check(language, "push.language") }
    }

    package func write(to writer: inout JSONWriter) {
        let null = RawJSON(known: "null")
        writer.object { writer in
            if let language { language.map { writer.field("language", $0) } ?? writer.field("language", null) }
            writer.field("showsDetail", showsDetail)
            if let level { level.map { writer.field("level", $0.rawValue) } ?? writer.field("level", null) }
            switch quietHours {
            case nil: break
            case .some(nil): writer.field("quietHours", null)
            case .some(.some(let hours)):
                writer.key("quietHours")
                hours.write(to: &writer)
            }
        }
    }

    package static func apply(_ change: PushPreferencesChange, to preferences: inout PushPreferences) {
        if let language = change.language { preferences.language = language }
        preferences.showsDetail = change.showsDetail ?? preferences.showsDetail
        if let level = change.level { preferences.level = level }
        if let hours = change.quietHours { preferences.quietHours = hours }
    }

    private static func hours(_ value: inout JSONReader) throws(ChatError) -> QuietHours {
        var (from, to, zone): (String?, String?, String?)
        var allowsMentions = false
        try value.object { (name, value) throws(ChatError) in
            switch name {
            case "from": from = try value.string()
            case "to": to = try value.string()
            case "timeZone": zone = try value.string()
            case "allowsMentions": allowsMentions = try value.bool()
            default: try value.skip()
            }
        }
        return try QuietHours(
            from: .init(try from.required("quietHours.from"), parameter: "quietHours.from"),
            to: .init(try to.required("quietHours.to"), parameter: "quietHours.to"),
            timeZone: try zone.required("quietHours.timeZone"), allowsMentions: allowsMentions)
    }
}

extension QuietHours {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("from", start)
            writer.field("to", end)
            writer.field("timeZone", timeZone)
            writer.field("allowsMentions", allowsMentions)
        }
    }
}
