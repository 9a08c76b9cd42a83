import Hummingbird
import NIOPosix
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// What is asked about several conversations at once.
    static let history: [Route] = [
        Route(.post, "/v1/history/fetch", .readSeveral) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var fields = FetchFields()
            try await scope.object(request) { (name, value) throws(ChatError) in
                if try !fields.read(name, &value) { try value.skip() }
            }
            let query = try fields.query()
            let pages = try await scope.read { try $0.fetch(query, by: caller) }
            return respond { writer in
                writer.key("pages")
                writer.array(pages) { $1.write(to: &$0) }
            }
        },
        Route(.post, "/v1/history/counts", .readSeveral) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var since: [(ConversationID, Timetoken)]?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "since" else { return try value.skip() }
                since = try MessageCounts.times(&value)
            }
            let wanted = try since.required("since").map { (conversation: $0.0, time: $0.1) }
            let counts = try await scope.read { try $0.counts(since: wanted, by: caller) }
            return respond { MessageCounts.write(counts, to: &$0) }
        },
        Route(.post, "/v1/history/refresh", .readSeveral) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            var references: [MessageReference]?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "messages" else { return try value.skip() }
                references = try value.list("messages", limit: Engine.maximumRefreshed) {
                    (reference) throws(ChatError) in try MessageReference(from: &reference)
                }
            }
            let wanted = try references.required("messages")
            let answers = try await scope.read { try $0.refresh(wanted, by: caller) }
            return respond { Refreshed.write(answers, to: &$0) }
        },
        Route(.get, "/v1/search", .readSeveral) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            return try await scope.search(SearchParameters(try scope.query(request)).query(in: nil), by: caller)
        },
        Route(.get, "/v1/conversations/{conversation}/search", .readHistory) {
            scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.conversation(context)
            return try await scope.search(SearchParameters(try scope.query(request)).query(in: id), by: caller)
        },
        Route(.get, "/v1/settings", .readSettings) { scope, request, _ throws(ChatError) in
            _ = try await scope.caller(request)
            let settings = scope.engine.settings
            return respond { settings.writeMembers(to: &$0) }
        },
        Route(.put, "/v1/settings", .changeSettings) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            // Read once to refuse what is wrong, and again over what is set by then.
            let body = try await scope.json(request)
            var settings = scope.engine.settings
            var reader = body
            try reader.object { (name, value) throws(ChatError) in
                if try !settings.read(name, &value) { try value.skip() }
            }
            _ = try settings.validated()
            let stored = try await scope.write {
                $0.putSettings(by: caller, completion: $1) { settings in
                    var reader = body
                    try? reader.object { (name, value) throws(ChatError) in
                        if try !settings.read(name, &value) { try value.skip() }
                    }
                }
            }
            scope.tidy.begin()
            return respond { stored.writeMembers(to: &$0) }
        },
    ]
}

extension RequestScope {
    fileprivate func search(_ query: SearchQuery, by caller: Caller) async throws(ChatError) -> Response {
        let page = try await write { engine, completion in
            engine.search(
                query, by: caller, offload: { work in readers.submit { _ in work() } }, completion: completion)
        }
        return respond { page.writeMembers(to: &$0) }
    }
}
