/// A member of push options that is not an option.
package struct UnknownPushMember: Hashable, Sendable {
    /// The path of the object that contains the member, such as `push.android`.
    package let object: String
    package let name: String
    /// The names of the object's options.
    package let known: [String]

    package init(object: String, name: String, known: [String]) {
        self.object = object
        self.name = name
        self.known = known
    }
}

extension PushOptions {
    /// Returns the first member of the `push` member of a message that is not an option, or `nil`.
    ///
    /// Decoding ignores such members, because newer clients can send options that this version doesn't have.
    package static func unknownMember(of json: RawJSON) throws(ChatError) -> UnknownPushMember? {
        var reader = JSONReader(json.text, field: "push")
        return try unknownMember(of: "push", &reader)
    }

    /// The names of the options in each object, by the object's path.
    private static let names = [
        "push": allNames(of: CodingKeys.self), "push.ios": allNames(of: IOS.CodingKeys.self),
        "push.android": allNames(of: Android.CodingKeys.self),
        "push.android.xiaomi": allNames(of: Android.Channel.CodingKeys.self),
        "push.android.huawei": allNames(of: Android.Huawei.CodingKeys.self),
        "push.android.honor": allNames(of: Android.Honor.CodingKeys.self),
        "push.android.oppo": allNames(of: Android.Channel.CodingKeys.self),
        "push.android.vivo": allNames(of: Android.Vivo.CodingKeys.self),
        "push.android.fcm": allNames(of: Android.FCM.CodingKeys.self),
        "push.harmony": allNames(of: Harmony.CodingKeys.self),
    ]

    private static func allNames<Keys: CodingKey & CaseIterable>(of keys: Keys.Type) -> [String] {
        keys.allCases.map(\.stringValue)
    }

    private static func unknownMember(
        of object: String, _ reader: inout JSONReader
    ) throws(ChatError) -> UnknownPushMember? {
        guard let known = names[object] else {
            try reader.skip()
            return nil
        }
        if try reader.null() { return nil }
        var found: UnknownPushMember?
        try reader.object { (name, value) throws(ChatError) in
            if found != nil {
                try value.skip()
            } else if known.contains(name) {
                found = try unknownMember(of: "\(object).\(name)", &value)
            } else {
                found = UnknownPushMember(object: object, name: name, known: known)
                try value.skip()
            }
        }
        return found
    }
}
