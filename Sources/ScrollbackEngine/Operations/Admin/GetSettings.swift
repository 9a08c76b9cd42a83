package import ScrollbackModel
package import ScrollbackWire

/// Gets the server's settings.
package struct GetSettings: ChatOperation {
    package static let endpoint = Endpoint(
        http: .get("/v1/settings"), scope: .admin, callers: .administrator, cost: .read, tag: .server,
        summary: "Get the server's settings")

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .component("Settings")

        package var settings: ServerSettings

        package func writeMembers(to writer: inout JSONWriter) {
            settings.writeMembers(to: &writer)
        }
    }

    package init() {}

    package init(from request: inout RequestReader) throws(ChatError) {}
}

extension GetSettings: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(settings: engine.settings)
    }
}
