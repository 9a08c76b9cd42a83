import ScrollbackModel
package import ScrollbackWire

extension MarkSeveralRead: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        switch selection {
        case .marks(let marks):
            context.engine.read(marks, by: context.caller) { completion($0.map { .reads($0) }) }
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
        context.engine.read(Array(marks.prefix(batch)), by: context.caller) { result in
            switch result {
            case .success(let answers):
                let read = answers.count { (try? $0.result.get()) != nil }
                Self.read(marks.dropFirst(batch), count: count + read, context, completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}
