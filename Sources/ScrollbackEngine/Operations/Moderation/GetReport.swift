package import ScrollbackModel
package import ScrollbackWire

/// Gets one report.
package struct GetReport: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/reports/{number}"), scope: .admin, callers: .administrator, cost: .read,
        tag: .server,
        summary: "Get a report", errors: [404])

    package typealias Answer = Report

    package var number: Int64

    package init(number: Int64) {
        self.number = number
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        number = try request.number("number")
    }
}

extension GetReport: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Report {
        try engine.store.read { store in
            guard let row = try store.report(number) else { throw ChatError.unknownReport(number) }
            return try Report(row, in: store)
        }
    }
}

extension ChatError {
    static func unknownReport(_ number: Int64) -> ChatError {
        ChatError(.unknownReport, "There is no report with the number \(number).", parameter: "number")
    }
}
