package import ScrollbackModel

extension RequestReader {
    /// Reads a list of users.
    package mutating func users(_ description: String = "") throws(ChatError) -> [UserID] {
        try required(
            "users", .array(.component("UserID"), count: 1...FetchUsers.maximum), example: #"["alice","bob"]"#,
            description
        ) { (value) throws(ChatError) in try value.users() }
    }
}
