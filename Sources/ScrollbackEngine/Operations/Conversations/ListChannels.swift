package import ScrollbackModel
package import ScrollbackWire

/// Lists the channels of a community that the caller may see.
package struct ListChannels: ChatOperation {
    package static let endpoint = Endpoint(
        "listChannels", http: .get("/v1/communities/{target}/channels"), scope: .read, caller: .permission([.read]),
        cost: .read, tag: .conversations,
        summary: "List the channels of a community",
        details: "Ordered by name. Channels that you may not see are left out.",
        errors: [404])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("channels", .array(.component("Head"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var channels: [ConversationHead]
        /// The next page has the channels after this one.
        package var next: Identifier?

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("channels")
            writer.array(channels) { $1.write(to: &$0) }
            writer.field("cursor", next?.text)
        }
    }

    package var community: Identifier
    package var page: Paging

    package init(community: Identifier, page: Paging) {
        self.community = community
        self.page = page
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        page = try Paging(from: &request)
        community = try request.required("target", "The community's name.")
    }
}

extension ListChannels: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        let after = try page.cursor.map { (text) throws(ChatError) in try Identifier(text, parameter: "cursor") }
        let (heads, next) = try engine.channels(of: community, after: after, limit: page.limit, by: caller)
        return Answer(channels: heads, next: next)
    }
}
