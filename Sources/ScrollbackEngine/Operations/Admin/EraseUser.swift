package import ScrollbackModel
package import ScrollbackWire

/// Erases a user and their data.
package struct EraseUser: ChatOperation {
    package static let endpoint = Endpoint(
        http: .delete("/v1/users/{user}"), scope: .admin, callers: .administrator, cost: .write,
        tag: .users,
        summary: "Erase a user",
        details: """
            The server closes the user's connections and refuses their tokens at once. A background job removes their \
            profile, memberships, read positions, blocks, messages only they can see, and unreferenced files. The user \
            name is free when the job is done. Repeating the request returns the same job. You can't erase yourself.
            """,
        errors: [404, 409])

    package struct Answer: OperationAnswer {
        package static let schema = ErasureRow.schema
        package static let statuses = [202]

        package var job: ErasureRow

        package func writeMembers(to writer: inout JSONWriter) {
            job.writeMembers(to: &writer)
        }
    }

    package var user: UserID
    package var messages: ErasureRow.Messages

    package init(user: UserID, messages: ErasureRow.Messages) {
        self.user = user
        self.messages = messages
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        messages = try request.required(
            "messages",
            """
            What happens to the user's messages. `keep` leaves them unchanged. `anonymize` replaces the sender and \
            mentions by a random name. `erase` replaces each message by a tombstone with a random sender.
            """)
    }
}

extension EraseUser: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        Task {
            do throws(ChatError) {
                let job = try await context.engine.erase(user, messages: messages, by: context.caller)
                completion(.success(Answer(job: job)))
            } catch {
                completion(.failure(error))
            }
        }
    }
}
