import ScrollbackModel
package import ScrollbackWire

extension MarkSeveralRead: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        switch selection {
        case .marks(let marks):
            Self.read(marks, context) { completion($0.map { .reads($0) }) }
        case .all(let kind, let time):
            context.offload {
                do {
                    let marks = try context.engine.marks(ReadScope(kind: kind, upTo: time), by: context.caller)
                    Self.read(marks[...], count: 0, context, completion)
                } catch {
                    completion(.failure(ChatError(wrapping: error)))
                }
            }
        }
    }

    /// How many conversations one transaction reads, so that messages of other users are stored in between.
    private static let batch = 100

    /// - Parameter count: The number of conversations that were read before.
    private static func read(
        _ marks: ArraySlice<ReadMark>, count: Int, _ context: OperationContext,
        _ completion: @escaping Engine.Completion<Answer>
    ) {
        guard !marks.isEmpty else { return completion(.success(.count(count))) }
        read(Array(marks.prefix(batch)), context) { result in
            switch result {
            case .success(let answers):
                let read = answers.count { (try? $0.result.get()) != nil }
                Self.read(marks.dropFirst(batch), count: count + read, context, completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    /// Advances the caller's read positions in several conversations, as one change.
    private static func read(
        _ marks: [ReadMark], _ context: OperationContext, _ completion: @escaping Engine.Completion<[ReadResult]>
    ) {
        let caller = context.caller
        let footprints = marks.map { mark in
            Footprint(
                mark.conversation.logID.absolute(for: caller.user), caller.user, needsAccess: true,
                readsThrough: mark.position.seq)
        }
        context.engine.commits.submit(
            for: WorkOwner(caller), about: footprints,
            { transaction in
                try context.engine.checkNotErased(caller.user, since: context.erasureCount)
                return try transaction.read(marks, by: caller, permissions: context.permissions)
            }, completion: completion)
    }
}
