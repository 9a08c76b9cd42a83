package import ScrollbackModel
package import ScrollbackWire

extension SearchMessages: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<SearchPage>) {
        context.engine.search(query, by: context.caller, offload: context.offload, completion: completion)
    }
}
