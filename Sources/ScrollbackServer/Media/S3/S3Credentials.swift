import ScrollbackModel

/// The access key of an S3-compatible store, which signs each request.
struct S3Credentials: Sendable {
    let accessKey: String
    let secretKey: String
    /// The token of temporary credentials.
    let sessionToken: String?

    /// Reads the credentials from the environment variables that Amazon's tools use.
    ///
    /// - Throws: `invalid-parameter` with the name of a missing variable.
    init(environment: [String: String]) throws(ChatError) {
        func value(_ name: String) throws(ChatError) -> String {
            guard let value = environment[name], !value.isEmpty else {
                throw .invalidParameter(
                    "files", "requires the access key of the store: set the environment variable \(name)")
            }
            return value
        }
        accessKey = try value("AWS_ACCESS_KEY_ID")
        secretKey = try value("AWS_SECRET_ACCESS_KEY")
        sessionToken = environment["AWS_SESSION_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
