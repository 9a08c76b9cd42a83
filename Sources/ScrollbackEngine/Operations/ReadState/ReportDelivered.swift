import ScrollbackModel
package import ScrollbackWire

extension ReportDelivered: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        context.engine.reportDelivered(marks, by: context.caller) { completion($0.map { Answer($0) }) }
    }
}
