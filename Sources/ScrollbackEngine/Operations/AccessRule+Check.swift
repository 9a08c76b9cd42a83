package import ScrollbackModel
package import ScrollbackWire

extension AccessRule {
    /// Checks that a caller's token has the scope of an operation.
    ///
    /// - Throws: `forbidden` when it doesn't.
    package func check(_ caller: Caller) throws(ChatError) {
        guard let scope, !caller.isAdmin else { return }
        guard scope != .admin else {
            throw ChatError(.forbidden, "Only administrators can do this. Use a token with the admin scope.")
        }
        guard caller.scopes.contains(scope) else {
            let own = caller.scopes.names?.joined(separator: ", ") ?? ""
            throw ChatError(
                .forbidden,
                "This needs a token with the scope \(scope.rawValue). Yours has \(own.isEmpty ? "no scope" : own).",
                parameter: "token")
        }
    }

    /// Opening a connection.
    ///
    /// A connection receives messages, so it needs the scope `read`.
    package static let connect = AccessRule(.read, .anyUser)
}
