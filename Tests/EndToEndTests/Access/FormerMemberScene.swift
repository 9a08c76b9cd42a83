import Foundation
import PictureFixtures
import ScrollbackModel
import Testing

/// A conversation in which the membership of bob ended, and everything was changed afterwards.
///
/// Every text that was stored after the end contains ``marker``.
struct FormerMemberScene {
    enum Kind: String, CaseIterable, Sendable {
        case group, publicChannel, privateChannel
    }

    enum Ending: String, CaseIterable, Sendable {
        case removal, leaving, ban
    }

    static let marker = "zzmark"

    /// What no answer to bob contains: ``marker``, and the first pin and the first vote for this option.
    static let later = [marker, #""type":"pin""#, #""type":"vote","value":"1""#]

    let fixture: ServerFixture
    let bob: API
    /// A connection of bob since before the end.
    let socket: TestSocket
    private var values: [String: String]

    init(_ kind: Kind, _ ending: Ending) async throws {
        fixture = try ServerFixture.shared
        let tag = UUID().uuidString.prefix(8).lowercased()
        let (id, members) =
            switch kind {
            case .group: ("group:\(tag)", "group:\(tag)")
            case .publicChannel: ("community:\(tag)/open", "community:\(tag)")
            case .privateChannel: ("community:\(tag)/closed", "community:\(tag)/closed")
            }
        // Bob stays a member of the community of a private channel, and may see its members.
        let name = "\(kind == .privateChannel ? "new" : Self.marker)-\(tag)"
        values = [
            "TAG": tag, "P": id, "PATH": id.replacing("/", with: "%2F"), "BOB": "bob-\(tag)",
            "MEMBERS": members.replacing("/", with: "%2F"), "MEMBERSID": members, "NEW": name,
        ]
        for name in ["EDITED", "REACTED", "ROOT", "OWN", "FILE", "PICTURE", "POLL", "REPLY", "LATER", "FRESH"] {
            values[name] = UUID().uuidString.lowercased()
        }
        bob = try await fixture.server.api(UserID("bob-\(tag)"))
        socket = try await TestSocket.signedIn(fixture.server, UserID("bob-\(tag)"))
        let alice = try await fixture.server.api(UserID("alice-\(tag)"))
        let marked = try await fixture.server.api(UserID(name))
        let list = #""members":["alice-{TAG}","bob-{TAG}"]"#
        let admin = fixture.admin
        if kind == .group {
            try await make(admin, "PUT", "/v1/conversations/{PATH}", #"{"name":"before",\#(list)}"#)
        } else {
            try await make(admin, "PUT", "/v1/conversations/community:{TAG}", #"{"name":"before",\#(list)}"#)
            let isPrivate = kind == .privateChannel ? #","private":true,\#(list)"# : ""
            try await make(admin, "PUT", "/v1/conversations/{PATH}", #"{"name":"before"\#(isPrivate)}"#)
        }
        // A moderator can invite, and the export contains the invitation.
        try await make(admin, "PUT", "/v1/conversations/{MEMBERS}/members/{BOB}", #"{"role":"moderator"}"#)
        if kind == .privateChannel {
            try await make(admin, "PUT", "/v1/conversations/community:{TAG}/members/guest-{TAG}", "{}")
        }
        try await make(bob, "PUT", "/v1/conversations/{MEMBERS}/invitations/guest-{TAG}", "{}")
        for name in ["EDITED", "REACTED", "ROOT"] {
            try await send(alice, name, #""type":"text","content":{"text":"x"}"#)
        }
        try await send(bob, "OWN", #""type":"text","content":{"text":"mine"}"#)
        let first = try await upload(alice, "first.txt", Array("first".utf8), type: "file")
        let picture = try await upload(alice, "picture.png", SampleFile.png(9, 9), type: "image")
        values["IMAGE"] = picture
        try await send(alice, "FILE", #""type":"file","content":{"media":"\#(first)"}"#)
        try await send(alice, "PICTURE", #""type":"image","content":{"media":"\#(picture)"}"#)
        try await send(alice, "POLL", #""type":"poll","content":{"text":"?","options":["a","b"]}"#)
        try await act(bob, "POLL", "vote", "0")
        let head = try await bob.call("GET", fill("/v1/conversations/{PATH}")).json
        values["EPOCH"] = head.string("epoch")
        values["VIEW"] = "\(head.int("view") ?? 0)"

        switch ending {
        case .removal: try await make(admin, "DELETE", "/v1/conversations/{MEMBERS}/members/{BOB}")
        case .leaving: try await make(bob, "DELETE", "/v1/conversations/{MEMBERS}/members/{BOB}")
        case .ban: try await make(admin, "PUT", "/v1/conversations/{MEMBERS}/bans/{BOB}", "{}")
        }
        try await change(admin, alice, marked, kind)
    }

    /// Puts the marker into everything that bob could see.
    private mutating func change(_ admin: API, _ alice: API, _ marked: API, _ kind: Kind) async throws {
        let (messages, marker) = ("/v1/conversations/{PATH}/messages", Self.marker)
        if kind != .group {
            try await make(admin, "PUT", "/v1/conversations/community:{TAG}/members/{NEW}", "{}")
        }
        if kind != .publicChannel { try await make(admin, "PUT", "/v1/conversations/{PATH}/members/{NEW}", "{}") }
        try await make(
            alice, "PATCH", "\(messages)/{EDITED}",
            #"{"content":{"text":"\#(marker) words"},"metadata":{"a":"\#(marker)"},"mentions":{"users":["{BOB}"]}}"#)
        try await make(admin, "PATCH", "\(messages)/{OWN}", #"{"content":{"text":"\#(marker) words"}}"#)
        for name in ["REACTED", "OWN"] { try await act(alice, name, "reaction", marker) }
        try await act(alice, "POLL", "vote", "1")
        for name in ["POLL", "ROOT"] { try await act(admin, name, "pin", "pin") }
        try await send(alice, "REPLY", #""type":"text","content":{"text":"\#(marker)"},"replyTo":"{ROOT}""#)
        let later = try await upload(alice, "\(marker).txt", Array(marker.utf8), type: "file")
        values["MEDIA"] = later
        try await make(
            alice, "PATCH", "\(messages)/{FILE}",
            #"{"type":"file","content":{"media":"\#(later)","name":"\#(marker)"}}"#)
        let thumbnail = try await alice.call(
            "PUT", fill("/v1/media/{IMAGE}/thumbnail"), bytes: SampleFile.png(3, 3), type: "image/png")
        try #require(thumbnail.status == 200, "\(thumbnail)")
        try await make(
            admin, "PUT", "/v1/conversations/{PATH}", #"{"name":"\#(marker)","avatar":"https://\#(marker).test"}"#)
        if kind == .publicChannel {
            try await make(admin, "PUT", "/v1/conversations/community:{TAG}%2F\(marker)", "{}")
        }
        try await send(marked, "LATER", #""type":"text","content":{"text":"\#(marker)"},"mentions":{"everyone":true}"#)
    }

    // MARK: Requests

    /// Replaces the placeholders in `text`.
    func fill(_ text: String) -> String {
        values.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    private func make(_ api: API, _ method: String, _ path: String, _ body: String? = nil) async throws {
        let answer = try await api.call(method, fill(path), body.map(fill))
        try #require(answer.status < 300, "\(method) \(path): \(answer)")
    }

    private func send(_ api: API, _ name: String, _ members: String) async throws {
        try await make(api, "POST", "/v1/conversations/{PATH}/messages", #"{"id":"{\#(name)}",\#(members)}"#)
    }

    private func act(_ api: API, _ message: String, _ type: String, _ value: String) async throws {
        let path = "/v1/conversations/{PATH}/messages/{\(message)}/actions"
        try await make(api, "POST", path, #"{"type":"\#(type)","value":"\#(value)"}"#)
    }

    private func upload(_ api: API, _ name: String, _ bytes: [UInt8], type: String) async throws -> String {
        let path = fill("/v1/media?conversation={PATH}&type=\(type)&name=\(name)")
        let answer = try await api.call("POST", path, bytes: bytes, type: "application/octet-stream")
        return try #require(answer.json.string("media"), "\(answer)")
    }
}
