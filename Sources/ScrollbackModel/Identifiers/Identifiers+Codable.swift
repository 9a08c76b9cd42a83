// Identifiers are coded as their text forms, and checked when they are decoded.

extension Identifier: Codable {
    /// Reads the text form.
    ///
    /// - Throws: `invalid-parameter` when the text is no identifier; a `DecodingError` when there is no text.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the identifier as it was given.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension UserID: Codable {
    /// Reads the text form.
    ///
    /// - Throws: `invalid-parameter` when the text is no identifier; a `DecodingError` when there is no text.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the identifier as it was given.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension ConversationID: Codable {
    /// Reads the text form.
    ///
    /// - Throws: `invalid-parameter` when the text names no conversation; a `DecodingError` when there is no text.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text form, for example `group:swift`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension MessageID: Codable {
    /// Reads the text form.
    ///
    /// - Throws: `invalid-parameter` when the text is not a UUID; a `DecodingError` when there is no text.
    public init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the lower-case text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
