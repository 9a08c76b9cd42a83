import ScrollbackModel
package import ScrollbackWire

extension DeleteMessages: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        let done: Engine.Completion<Int> = { completion($0.map { Answer(count: Int64($0)) }) }
        switch audience {
        case .everyone: context.engine.delete(ids, in: conversation, by: context.caller, completion: done)
        case .me: context.engine.hide(ids, in: conversation, by: context.caller, completion: done)
        }
    }
}
