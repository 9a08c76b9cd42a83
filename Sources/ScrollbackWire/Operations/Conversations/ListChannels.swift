package import ScrollbackModel

/// Lists the channels of a community that the caller may see.
package struct ListChannels: ClientOperation {
    package static let endpoint = Endpoint(
        frame: "channels", http: .get("/v1/communities/{target}/channels"), scope: .read,
        callers: .permission([.read]), cost: .read, tag: .conversations,
        summary: "List the channels of a community",
        details: "Ordered by name. Channels that you may not see are left out.",
        errors: [404])

    package struct Answer: DecodableAnswer {
        package static let schema: JSONSchema? = .object([
            .init("channels", .array(.component("Head"))),
            .init("cursor", .string(), isRequired: false, "Pass it to get the next page. Absent on the last page."),
        ])

        package var channels: [ConversationHead]
        /// The next page has the channels after this one.
        package var next: Identifier?

        package init(channels: [ConversationHead], next: Identifier?) {
            self.channels = channels
            self.next = next
        }

        package init(from reader: inout JSONReader) throws(ChatError) {
            var channels: [ConversationHead]?
            var next: Identifier?
            try reader.object { (name, value) throws(ChatError) in
                switch name {
                case "channels":
                    channels = try value.list(name, limit: Limits.standard.pageSize) { (head) throws(ChatError) in
                        try ConversationHead(from: &head)
                    }
                case "cursor": next = try value.null() ? nil : Identifier(value.string(), parameter: "cursor")
                default: try value.skip()
                }
            }
            self.init(channels: try channels.required("channels"), next: next)
        }

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

    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("target", community.text)
        page.writeMembers(to: &writer)
    }
}
