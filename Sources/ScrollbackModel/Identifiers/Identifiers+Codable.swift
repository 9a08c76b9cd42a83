// Identifiers are encoded as their text forms and validated when they are decoded.

extension Identifier: Codable {
    /// Decodes the text form.
    ///
    /// - Throws: `invalid-parameter` if the text is not a valid identifier; a `DecodingError` if the value is not a
    ///   string.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension UserID: Codable {
    /// Decodes the text form.
    ///
    /// - Throws: `invalid-parameter` if the text is not a valid identifier; a `DecodingError` if the value is not a
    ///   string.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension ConversationID: Codable {
    /// Decodes the text form.
    ///
    /// - Throws: `invalid-parameter` if the text is not a conversation ID; a `DecodingError` if the value is not a
    ///   string.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the text form, for example `group:swift`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension MessageID: Codable {
    /// Decodes the text form.
    ///
    /// - Throws: `invalid-parameter` if the text is not a UUID; a `DecodingError` if the value is not a string.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the lowercase text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
