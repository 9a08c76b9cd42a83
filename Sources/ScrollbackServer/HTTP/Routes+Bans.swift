import Foundation
import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Who may not come in, and who may not be where.
    static let bans: [Route] = [
        Route(.get, "/v1/bans", .readServerBans) { scope, request, _ throws(ChatError) in
            try await list(nil, scope, request)
        },
        Route(.put, "/v1/bans/{user}", .banFromServer) { scope, request, context throws(ChatError) in
            try await put(nil, scope, request, context)
        },
        Route(.delete, "/v1/bans/{user}", .banFromServer) { scope, request, context throws(ChatError) in
            try await drop(nil, scope, request, context)
        },
        Route(.get, "/v1/conversations/{conversation}/bans", .readBans) { scope, request, context throws(ChatError) in
            try await list(try scope.conversation(context), scope, request)
        },
        Route(.put, "/v1/conversations/{conversation}/bans/{user}", .ban) { scope, request, context throws(ChatError) in
            try await put(try scope.conversation(context), scope, request, context)
        },
        Route(.delete, "/v1/conversations/{conversation}/bans/{user}", .ban) {
            scope, request, context throws(ChatError) in
            try await drop(try scope.conversation(context), scope, request, context)
        },
    ]

    private static func list(
        _ conversation: ConversationID?, _ scope: RequestScope, _ request: Request
    ) async throws(ChatError) -> Response {
        let caller = try await scope.caller(request)
        let list = try scope.list(request)
        let after = try list.after()
        let page = try await scope.read {
            try $0.bans(of: conversation, after: after, limit: list.limit, by: caller)
        }
        return respond { page.writeMembers(to: &$0) }
    }

    private static func put(
        _ conversation: ConversationID?, _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext
    ) async throws(ChatError) -> Response {
        let caller = try await scope.caller(request)
        let user = try UserID(try scope.segment("user", context))
        var lifetime: Double?
        var reason: String?
        try await scope.object(request) { (name, value) throws(ChatError) in
            switch name {
            case "expiresIn":
                if try value.null() { return }
                lifetime = try value.double()
            case "reason": reason = try value.null() ? nil : value.banReason()
            default: try value.skip()
            }
        }
        let longest = Engine.longestBan
        if let lifetime, !(1...longest).contains(lifetime) {
            throw .invalidParameter(
                "expiresIn", "must be in 1...\(Int(longest)) seconds, or left out for good", limit: Int(longest))
        }
        let until = lifetime.map { scope.engine.clock().addingTimeInterval($0) }
        let words = reason
        try await scope.write {
            $0.ban(user, until: until, reason: words, from: conversation, by: caller, completion: $1)
        }
        return Response(status: .noContent)
    }

    private static func drop(
        _ conversation: ConversationID?, _ scope: RequestScope, _ request: Request, _ context: BasicRequestContext
    ) async throws(ChatError) -> Response {
        let caller = try await scope.caller(request)
        let user = try UserID(try scope.segment("user", context))
        try await scope.write { $0.unban(user, from: conversation, by: caller, completion: $1) }
        return Response(status: .noContent)
    }

    /// What people say about messages of others.
    static let reports: [Route] = [
        Route(.post, "/v1/conversations/{conversation}/messages/{id}/reports", .report) {
            scope, request, context throws(ChatError) in
            let shutOuts = scope.engine.shutOuts
            let caller = try await scope.caller(request)
            let conversation = try scope.conversation(context)
            let id = try MessageID(try scope.segment("id", context))
            var reason: ReportReason?
            var text: String?
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "reason": reason = try ReportReason(try value.string())
                case "text": text = try value.null() ? nil : value.reportText("text")
                default: try value.skip()
                }
            }
            let (why, words) = (try reason.required("reason"), text)
            try scope.takeAllowance(of: caller)
            let report = try await scope.write {
                $0.report(
                    id, in: conversation, reason: why, text: words, by: caller, since: shutOuts, completion: $1)
            }
            return respond(report.isNew ? .created : .ok) { $0.field("number", report.number) }
        },
        Route(.get, "/v1/reports", .readReports) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let list = try scope.list(request, also: ["state"])
            let state = list["state"]
            guard state == nil || state == "open" || state == "closed" else {
                throw .invalidParameter("state", "must be open or closed")
            }
            let below = try list.cursor.map { (text) throws(ChatError) in
                guard let number = Int64(text), number > 0 else {
                    throw .invalidParameter("cursor", "must be one that the list gave, as it was")
                }
                return number
            }
            let (reports, next) = try await scope.read {
                try $0.reports(
                    isOpen: state.map { $0 == "open" }, below: below, limit: list.limit, by: caller)
            }
            return respond { writer in
                writer.key("reports")
                writer.array(reports) { writer, report in writer.object { report.writeMembers(to: &$0) } }
                writer.field("cursor", next.map { String($0) })
            }
        },
        Route(.get, "/v1/reports/{number}", .readReports) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let number = try number("number", scope, context)
            let report = try await scope.read { try $0.report(number, by: caller) }
            return respond { report.writeMembers(to: &$0) }
        },
        Route(.put, "/v1/reports/{number}", .closeReport) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let number = try number("number", scope, context)
            var state: String?
            var note: String??
            try await scope.object(request) { (name, value) throws(ChatError) in
                switch name {
                case "state": state = try value.string()
                case "note": note = .some(try value.null() ? nil : value.reportText("note"))
                default: try value.skip()
                }
            }
            let wanted = try state.required("state")
            guard wanted == "open" || wanted == "closed" else {
                throw .invalidParameter("state", "must be open or closed")
            }
            let words = note
            let report = try await scope.write {
                $0.putReport(number, isOpen: wanted == "open", note: words, by: caller, completion: $1)
            }
            return respond { report.writeMembers(to: &$0) }
        },
    ]
}
