import ContractRows
import Foundation
import ScrollbackEngine
import ScrollbackModel
import Testing

/// A row of the permission table: an action in a kind of conversation, tried in each role.
struct PermissionCase: Sendable, CustomTestStringConvertible {
    enum Role: String, CaseIterable, Hashable, Sendable {
        case none, member, moderator, owner, left, admin
    }

    var kind: String
    var action: String
    var statuses: [(role: Role, status: Int)]

    var testDescription: String { "\(kind) \(action)" }

    /// The expected HTTP status of each action in each kind of conversation, for each role.
    ///
    /// Status 403 means that the caller sees the conversation but may not perform the action. Status 404 means that the
    /// conversation is invisible or, for removals, that the user is not a member. Roles that a kind does not have are
    /// omitted.
    static let table: [PermissionCase] = parse(
        """
                                none member moderator owner left admin
        group create            201  201    201       201   201  201
        group read              404  200    200       200   200  200
        group send              404  201    201       201   403  201
        group sendHigh          404  201    201       201   403  201
        group mentionEveryone   404  201    201       201   403  201
        group listMembers       404  200    200       200   403  200
        group addMember         404  403    201       201   403  201
        group invite            404  403    201       201   403  201
        group addOwner          404  403    403       201   403  201
        group removeMember      404  403    204       204   403  204
        group removeOwner       404  403    403       204   403  204
        group mute              404  403    200       200   403  200
        group ban               404  403    204       204   403  204
        group leave             404  204    204       204   404  404
        group changeRole        404  403    403       200   403  200
        group changeSettings    404  403    403       200   403  200
        group markRead          404  200    200       200   200  403
        group delete            404  403    403       204   403  204
        group import            403  403    403       403   403  200
        group subscribe         404  200    200       200   403  200
        group editOwn           404  200    200       200   403  200
        group editOthers        404  403    403       403   403  200
        group recall            404  200    200       200   403  200
        group deleteOthers      404  403    200       200   403  200
        group deleteHistory     404  403    403       403   403  200
        group act               404  201    201       201   403  201
        group pin               404  201    201       201   403  201

        community create         403  403    403       403   403  201
        community createChannel  404  403    403       201   403  201
        community read           404  200    200       200   200  200
        community send           404  201    201       201   403  201
        community sendHigh       404  201    201       201   403  201
        community mentionEveryone 404  201    201       201   403  201
        community listMembers    404  200    200       200   403  200
        community listChannels   404  200    200       200   200  200
        community addMember      404  403    201       201   403  201
        community invite         404  403    201       201   403  201
        community addOwner       404  403    403       201   403  201
        community removeMember   404  403    204       204   403  204
        community removeOwner    404  403    403       204   403  204
        community mute           404  403    200       200   403  200
        community ban            404  403    204       204   403  204
        community leave          404  204    204       204   404  404
        community changeRole     404  403    403       200   403  200
        community changeSettings 403  403    403       200   403  200
        community markRead       404  200    200       200   200  403
        community delete         404  403    403       204   403  204
        community import         403  403    403       403   403  200
        community subscribe      404  200    200       200   403  200
        community editOwn        404  200    200       200   403  200
        community editOthers     404  403    403       403   403  200
        community recall         404  200    200       200   403  200
        community deleteOthers   404  403    200       200   403  200
        community deleteHistory  404  403    403       403   403  200
        community act            404  201    201       201   403  201
        community pin            404  403    201       201   403  201

        private createChannel    404  403    403       201   403  201
        private read             404  200    200       200   200  200
        private send             404  201    201       201   403  201
        private sendHigh         404  201    201       201   403  201
        private mentionEveryone  404  201    201       201   403  201
        private listMembers      404  200    200       200   403  200
        private listChannels     404  200    200       200   200  200
        private addMember        404  403    201       201   403  201
        private invite           404  403    201       201   403  201
        private addOwner         404  403    403       201   403  201
        private removeMember     404  403    204       204   403  204
        private removeOwner      404  403    403       204   403  204
        private mute             404  403    200       200   403  200
        private ban              404  403    204       204   403  204
        private leave            404  204    204       204   404  404
        private changeRole       404  403    403       200   403  200
        private changeSettings   404  403    403       200   403  200
        private markRead         404  200    200       200   200  403
        private delete           404  403    403       204   403  204
        private import           403  403    403       403   403  200
        private subscribe        404  200    200       200   403  200
        private editOwn          404  200    200       200   403  200
        private editOthers       404  403    403       403   403  200
        private recall           404  200    200       200   403  200
        private deleteOthers     404  403    200       200   403  200
        private deleteHistory    404  403    403       403   403  200
        private act              404  201    201       201   403  201
        private pin              404  403    201       201   403  201

        room create             403  -      -         -     -    201
        room read               200  -      -         -     -    200
        room send               201  -      -         -     -    201
        room sendHigh           403  -      -         -     -    201
        room mentionEveryone    201  -      -         -     -    201
        room listMembers        403  -      -         -     -    403
        room addMember          403  -      -         -     -    403
        room invite             403  -      -         -     -    403
        room removeMember       404  -      -         -     -    404
        room mute               403  -      -         -     -    200
        room ban                403  -      -         -     -    204
        room leave              404  -      -         -     -    404
        room changeRole         403  -      -         -     -    403
        room changeSettings     403  -      -         -     -    200
        room markRead           422  -      -         -     -    422
        room delete             403  -      -         -     -    204
        room import             403  -      -         -     -    200
        room subscribe          200  -      -         -     -    200
        room editOwn            200  -      -         -     -    200
        room editOthers         403  -      -         -     -    200
        room recall             200  -      -         -     -    200
        room deleteOthers       403  -      -         -     -    200
        room deleteHistory      403  -      -         -     -    200
        room act                201  -      -         -     -    201
        room pin                403  -      -         -     -    201

        direct create           403  201    -         -     -    201
        direct read             404  200    -         -     -    200
        direct send             404  201    -         -     -    201
        direct sendHigh         404  201    -         -     -    201
        direct mentionEveryone  404  201    -         -     -    201
        direct listMembers      404  200    -         -     -    200
        direct addMember        404  403    -         -     -    403
        direct invite           404  403    -         -     -    403
        direct removeMember     404  403    -         -     -    403
        direct mute             404  403    -         -     -    403
        direct ban              404  403    -         -     -    403
        direct leave            404  403    -         -     -    404
        direct changeRole       404  403    -         -     -    403
        direct changeSettings   403  403    -         -     -    403
        direct markRead         404  200    -         -     -    403
        direct delete           404  403    -         -     -    204
        direct import           403  403    -         -     -    200
        direct subscribe        404  200    -         -     -    200
        direct editOwn          404  200    -         -     -    200
        direct editOthers       404  403    -         -     -    200
        direct recall           404  200    -         -     -    200
        direct deleteOthers     404  403    -         -     -    200
        direct deleteHistory    404  403    -         -     -    200
        direct act              404  201    -         -     -    201
        direct pin              404  201    -         -     -    201

        system create           403  403    -         -     -    201
        system read             404  200    -         -     -    200
        system send             404  403    -         -     -    201
        system sendHigh         404  403    -         -     -    201
        system mentionEveryone  404  403    -         -     -    201
        system listMembers      404  200    -         -     -    200
        system addMember        404  403    -         -     -    403
        system invite           404  403    -         -     -    403
        system removeMember     404  403    -         -     -    403
        system mute             404  403    -         -     -    403
        system ban              404  403    -         -     -    403
        system leave            404  403    -         -     -    404
        system changeRole       404  403    -         -     -    403
        system changeSettings   403  403    -         -     -    403
        system markRead         404  200    -         -     -    403
        system delete           404  403    -         -     -    204
        system import           403  403    -         -     -    200
        system subscribe        404  200    -         -     -    200
        system editOwn          404  404    -         -     -    200
        system editOthers       404  403    -         -     -    200
        system recall           404  404    -         -     -    200
        system deleteOthers     404  403    -         -     -    200
        system deleteHistory    404  403    -         -     -    200
        system act              404  201    -         -     -    201
        system pin              404  403    -         -     -    201
        """)

    private static func parse(_ text: String) -> [PermissionCase] {
        text.split(separator: "\n").dropFirst().compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2 + Role.allCases.count else { return nil }
            let statuses = zip(Role.allCases, words.dropFirst(2)).compactMap { role, word in
                Int(word).map { (role, $0) }
            }
            return PermissionCase(kind: words[0], action: words[1], statuses: statuses)
        }
    }
}

@Suite(.serverFixture) struct PermissionTableTests {
    @Test func `The table has every kind, action and role`() {
        // The actions of the engine, and two that only the API distinguishes.
        let actions = Set(Permission.allCases.map { $0 == .importHistory ? "import" : $0.rawValue })
            .union(["markRead", "subscribe"])
        let withRoles = actions.union(["addOwner", "removeOwner"])
        let expected: [String: (actions: Set<String>, roles: Set<PermissionCase.Role>)] = [
            "group": (withRoles, Set(PermissionCase.Role.allCases)),
            "community": (withRoles.union(["createChannel", "listChannels"]), Set(PermissionCase.Role.allCases)),
            // A channel is created in its community, by the action `createChannel`.
            "private": (
                withRoles.subtracting(["create"]).union(["createChannel", "listChannels"]),
                Set(PermissionCase.Role.allCases)
            ),
            "room": (actions, [.none, .admin]), "direct": (actions, [.none, .member, .admin]),
            "system": (actions, [.none, .member, .admin]),
        ]
        #expect(Set(expected.keys) == Set(ConversationKind.allCases.map(\.rawValue)).union(["private"]))
        let rows = Dictionary(grouping: PermissionCase.table, by: \.kind)
        #expect(Set(rows.keys) == Set(expected.keys))
        for (kind, wanted) in expected {
            let found = rows[kind]?.map(\.action) ?? []
            #expect(Set(found) == wanted.actions, "\(kind)")
            #expect(found.count == wanted.actions.count, "\(kind) has duplicate rows")
            for cell in rows[kind] ?? [] {
                #expect(Set(cell.statuses.map(\.role)) == wanted.roles, "\(kind) \(cell.action)")
            }
        }
    }

    @Test(.rows(47), arguments: PermissionCase.table)
    func `Each role gets the expected status for each action`(_ cell: PermissionCase) async throws {
        for (role, status) in cell.statuses {
            let scene = try await Scene(cell.kind, cell.action)
            let answer = try await scene.attempt(cell.action, as: role)
            #expect(answer.status == status, "\(cell.kind) \(cell.action) by \(role): \(answer)")
            switch answer.status {
            case 403: #expect(["forbidden", "not-member"].contains(answer.code), "\(role): \(answer)")
            case 404:
                #expect(
                    ["unknown-conversation", "unknown-member", "unknown-message"].contains(answer.code),
                    "\(role): \(answer)")
            default: break
            }
        }
    }

    /// A conversation created for one attempt, with a user in each role.
    private struct Scene {
        let fixture: ServerFixture
        /// Path segments: the conversation, a conversation that does not exist yet, and the community of a channel.
        let name: String
        let fresh: String
        let community: String?
        /// A member who can be removed or given a role, and an owner.
        let member: String
        let owner: String
        let tag: String
        /// A message by the administrator, and a message by the user who left.
        let adminMessage = UUID()
        let leftMessage = UUID()

        init(_ kind: String, _ action: String) async throws {
            fixture = try ServerFixture.shared
            let tag = UUID().uuidString.prefix(8).lowercased()
            self.tag = tag
            let people = ["member", "moderator", "owner", "left", "extra", "boss"].map { "\($0)-\(tag)" }
            let list = #"{"members":[\#(people.map { "\"\($0)\"" }.joined(separator: ","))]}"#
            switch kind {
            case "direct": (member, owner) = ("peer-\(tag)", "")
            // Only the recipient is a member.
            case "system": (member, owner) = ("member-\(tag)", "")
            default: (member, owner) = (people[4], people[5])
            }
            switch kind {
            case "group": (name, fresh, community) = ("group:\(tag)", "group:new-\(tag)", nil)
            case "room": (name, fresh, community) = ("room:\(tag)", "room:new-\(tag)", nil)
            case "community":
                (name, fresh, community) = ("community:\(tag)", "community:new-\(tag)", "community:\(tag)")
            case "private":
                (name, fresh, community) = ("community:\(tag)%2Fp", "community:\(tag)%2Fnew", "community:\(tag)")
            case "direct": (name, fresh, community) = ("direct:member-\(tag)%2Fpeer-\(tag)", "", nil)
            default: (name, fresh, community) = ("system:member-\(tag)%2Fpeer-\(tag)", "", nil)
            }
            if let community { try await expect("PUT", community, list) }
            if fresh.isEmpty {
                if action != "create" {
                    try await expect("POST", name + "/messages", API.message("hi", id: adminMessage))
                }
                return
            }
            if kind == "private" {
                try await expect("PUT", name, String(list.dropLast()) + #","private":true}"#)
            } else if community == nil {
                try await expect("PUT", name, kind == "room" ? "{}" : list)
            }
            try await expect("POST", name + "/messages", API.message("hi", id: adminMessage))
            guard kind != "room" else { return }
            let left = try await fixture.server.api(UserID("left-\(tag)"))
            _ = try await left.call(
                "POST", "/v1/conversations/\(name)/messages", API.message("mine", id: leftMessage))
            try await expect("PUT", name + "/members/moderator-\(tag)", #"{"role":"moderator"}"#)
            try await expect("PUT", name + "/members/owner-\(tag)", #"{"role":"owner"}"#)
            try await expect("PUT", name + "/members/\(owner)", #"{"role":"owner"}"#)
            try await expect("DELETE", name + "/members/left-\(tag)", nil)
            if kind == "private", action == "createChannel" {
                // Only owners of the community can create channels.
                try await expect("PUT", "community:\(tag)/members/owner-\(tag)", #"{"role":"owner"}"#)
            }
        }

        private func expect(_ method: String, _ path: String, _ body: String?) async throws {
            let answer = try await fixture.admin.call(method, "/v1/conversations/\(path)", body)
            try #require(answer.status < 300, "\(method) \(path): \(answer)")
        }

        private func change(_ message: UUID, _ isDelete: Bool, _ api: API) async throws -> Answer {
            let path = "/v1/conversations/\(name)/messages/\(message.uuidString.lowercased())"
            if isDelete { return try await api.call("DELETE", path) }
            return try await api.call("PATCH", path, #"{"content":{"text":"new"}}"#)
        }

        func attempt(_ action: String, as role: PermissionCase.Role) async throws -> Answer {
            let user = role == .admin ? "admin" : "\(role.rawValue)-\(tag)"
            let api = try await fixture.server.api(UserID(user), isAdmin: role == .admin)
            let path = "/v1/conversations/\(name)"
            switch action {
            case "create": return try await api.call("PUT", "/v1/conversations/\(fresh.isEmpty ? name : fresh)", "{}")
            case "createChannel":
                return try await api.call("PUT", "/v1/conversations/\(community ?? "")%2Fnew", #"{"private":true}"#)
            case "read":
                let answer = try await api.call("GET", path)
                let page = try await api.call("GET", path + "/messages")
                #expect(answer.status == page.status, "\(answer) but \(page)")
                return page
            case "send": return try await api.send("hello", to: name)
            case "sendHigh":
                let message =
                    #"{"id":"\#(UUID().uuidString.lowercased())","type":"text","content":{"text":"hello"},"priority":"high"}"#
                return try await api.call("POST", path + "/messages", message)
            case "mentionEveryone":
                let message =
                    #"{"id":"\#(UUID().uuidString.lowercased())","type":"text","content":{"text":"all"},"mentions":{"everyone":true}}"#
                return try await api.call("POST", path + "/messages", message)
            case "editOwn", "recall":
                let own = role == .left ? leftMessage : UUID()
                // Roles without the permission to send have no message of their own.
                _ = try await api.call("POST", path + "/messages", API.message("mine", id: own))
                return try await change(own, action == "recall", api)
            case "editOthers", "deleteOthers": return try await change(adminMessage, action == "deleteOthers", api)
            case "deleteHistory": return try await api.call("DELETE", path + "/messages?all=true")
            case "act":
                return try await api.call(
                    "POST", path + "/messages/\(adminMessage.uuidString.lowercased())/actions",
                    #"{"type":"reaction","value":"👍"}"#)
            case "pin":
                return try await api.call(
                    "POST", path + "/messages/\(adminMessage.uuidString.lowercased())/actions",
                    #"{"type":"pin","value":"pin"}"#)
            case "ban": return try await api.call("PUT", path + "/bans/\(member)", "{}")
            case "mute":
                return try await api.call("PUT", path + "/members/\(member)", #"{"mutedUntil":"forever"}"#)
            case "listMembers": return try await api.call("GET", path + "/members")
            case "listChannels":
                let answer = try await api.call("GET", "/v1/communities/\(tag)/channels")
                if name.contains("%2Fp"), answer.status == 200 {
                    // Members of the community who were never in the private channel must not see it.
                    try await expect("PUT", "community:\(tag)/members/outsider", "{}")
                    let outsider = try await fixture.server.api("outsider")
                    let other = try await outsider.call("GET", "/v1/communities/\(tag)/channels")
                    #expect(answer.text.contains("community:\(tag)/p") && !other.text.contains("community:\(tag)/p"))
                }
                return answer
            case "addMember", "addOwner", "invite":
                if name.contains("%2Fp"), let community {
                    // A member of the channel must be a member of the community first.
                    try await expect("PUT", community + "/members/another", "{}")
                }
                if action == "invite" { return try await api.call("PUT", path + "/invitations/another", "{}") }
                return try await api.call(
                    "PUT", path + "/members/another", action == "addOwner" ? #"{"role":"owner"}"# : "{}")
            case "removeMember": return try await api.call("DELETE", path + "/members/\(member)")
            case "removeOwner": return try await api.call("DELETE", path + "/members/\(owner)")
            case "leave": return try await api.call("DELETE", path + "/members/\(user)")
            case "changeRole": return try await api.call("PUT", path + "/members/\(member)", #"{"role":"moderator"}"#)
            case "changeSettings": return try await api.call("PUT", path, #"{"name":"new"}"#)
            case "markRead":
                let head = try await fixture.admin.call("GET", path + "/messages").json
                return try await api.call(
                    "PUT", path + "/read", #"{"seq":1,"epoch":"\#(head.string("epoch") ?? "1")"}"#)
            case "subscribe":
                let socket = try await TestSocket.signedIn(fixture.server, try UserID(user), token: api.token)
                let id = name.removingPercentEncoding ?? ""
                let frame = try await socket.request(#""type":"subscribe","conversations":["\#(id)"]"#)
                let isDone = frame.string("type") == "result"
                return Answer(status: isDone ? 200 : frame.int("status") ?? 0, headers: [:], bytes: frame.bytes)
            case "delete": return try await api.call("DELETE", path)
            case "import": return try await api.call("POST", path + "/import", #"{"messages":[]}"#)
            default:
                Issue.record("The test does not implement the action \(action).")
                return Answer(status: 0, headers: [:], bytes: [])
            }
        }
    }
}
