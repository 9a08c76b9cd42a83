import Foundation
import Scrollback
import TestSupport
import Testing

@Suite("The commands for threads, drafts, the directory and the audit log")
struct ThreadCommandTests {
    private let server: RunningServer
    private let admin: API

    init() async throws {
        server = try await RunningServer.start()
        admin = try await server.admin()
        let made = try await admin.call("PUT", "/v1/conversations/group:crew", #"{"members":["alice","bob"]}"#)
        try #require(made.status == 201)
    }

    private func run(_ arguments: String...) async throws -> (code: Int32, output: String, errors: String) {
        try await RunningServer.command(
            arguments + ["--server", server.url.absoluteString, "--data", server.data.path])
    }

    @Test("A thread is listed with its unread replies, read and unfollowed")
    func threads() async throws {
        #expect(try await run("threads", "group:crew", "--as", "bob").output == "")
        #expect(try await run("send", "group:crew", "Tide at 6 🌊", "--as", "bob").code == 0)
        let alone = try await run("threads", "group:crew", "--follow", "seq:1", "--as", "alice")
        #expect(alone.code == 1 && alone.errors.contains("is not the first message of a thread"), "\(alone)")
        #expect(try await run("send", "group:crew", "On my way", "--reply-to", "seq:1", "--as", "alice").code == 0)
        let listed = try await run("threads", "group:crew", "--as", "bob").output.split(separator: "\n")
        try #require(listed.count == 2)
        #expect(listed[0].hasSuffix("bob: Tide at 6 🌊  (1 reply)") && listed[1].hasSuffix("  followed, 1 unread"))
        let read = try await run("threads", "group:crew", "--read", "seq:1", "--as", "bob", "--json")
        #expect(read.code == 0 && read.output.contains(#""unread":0"#), "\(read)")
        let left = try await run("threads", "group:crew", "--unfollow", "seq:1", "--as", "bob")
        #expect(left.code == 0 && left.output.hasSuffix("  not followed, 0 unread\n"), "\(left)")
        #expect(try await run("threads", "group:crew", "--followed", "--as", "bob").output == "")
        let both = try await run("threads", "group:crew", "--followed", "--read", "seq:1", "--as", "bob")
        #expect(both.code == 64 && both.errors.contains("only one of --followed"), "\(both)")
    }

    @Test("A draft is stored, listed and deleted")
    func drafts() async throws {
        #expect(try await run("drafts", "group:crew", "--text", "مرحبا 👋", "--as", "alice").output == "stored\n")
        #expect(try await run("drafts", "--as", "alice").output == "group:crew  مرحبا 👋\n")
        #expect(
            try await run("drafts", "--as", "alice", "--json").output
                == #"{"conversation":"group:crew","draft":{"text":"مرحبا 👋"}}"# + "\n")
        #expect(try await run("drafts", "--as", "bob").output == "")
        #expect(try await run("drafts", "group:crew", "--delete", "--as", "alice").output == "deleted\n")
        #expect(try await run("drafts", "--as", "alice").output == "")
        let unclear = try await run("drafts", "group:crew", "--as", "alice")
        #expect(unclear.code == 64 && unclear.errors.contains("--text or --delete"), "\(unclear)")
    }

    @Test("A message is scheduled, listed, cancelled and sent at its time")
    func schedule() async throws {
        let later = Date(timeIntervalSinceNow: 3_600).formatted(.iso8601)
        let stored = try await run("schedule", "group:crew", "see you 🌊", "--at", later, "--as", "alice")
        #expect(stored.code == 0, "\(stored)")
        let id = String(stored.output.prefix(36))
        let listed = try await run("schedule", "--as", "alice")
        #expect(listed.output.hasPrefix(id) && listed.output.hasSuffix("  group:crew  see you 🌊\n"), "\(listed)")
        #expect(try await run("schedule", "--as", "bob").output == "")
        let seen = try await run("admin", "scheduled", "alice")
        #expect(seen.output.hasPrefix(id) && seen.output.hasSuffix("  group:crew  see you 🌊\n"), "\(seen)")
        let both = try await run("schedule", "group:crew", "bye", "--at", later, "--as", "alice")
        let other = String(both.output.prefix(36))
        #expect(try await run("admin", "scheduled", "alice", "--cancel", other).output == "cancelled\n")
        let gone = try await run("admin", "scheduled", "alice", "--cancel", other)
        #expect(gone.code == 1 && gone.errors.contains("alice has no scheduled message"), "\(gone)")
        #expect(try await run("schedule", "--cancel", id, "--as", "alice").output == "cancelled\n")
        let again = try await run("schedule", "--cancel", id, "--as", "alice")
        #expect(again.code == 1 && again.errors.contains("no scheduled message"), "\(again)")
        let unclear = try await run("schedule", "group:crew", "--as", "alice")
        #expect(unclear.code == 64 && unclear.errors.contains("--at"), "\(unclear)")
        let wrong = try await run("schedule", "group:crew", "x", "--at", "tomorrow", "--as", "alice")
        #expect(wrong.code == 1 && wrong.errors.contains("at "), "\(wrong)")
        let past = "2026-01-01T00:00:00Z"
        #expect(try await run("schedule", "group:crew", "now", "--at", past, "--as", "alice").code == 0)
        #expect(
            try await eventually { try await run("history", "group:crew", "--as", "bob").output.contains("now") })
    }

    @Test("A wrong number of days is a usage error of the settings command")
    func settingsUsage() async throws {
        for (option, words) in [("--retention-days", "or forever"), ("--count-window-days", "or none")] {
            for value in ["abc", "0", "1.5"] {
                let wrong = try await run("settings", option, value)
                #expect(wrong.code == 64 && wrong.errors.contains("\(option) must be a number of days"), "\(wrong)")
                #expect(wrong.errors.contains(words), "\(wrong)")
                #expect(wrong.errors.contains("Usage: scrollback settings"), "\(wrong)")
            }
        }
    }

    @Test("The directory finds users if the setting allows it, and the audit log shows who changed the setting")
    func directory() async throws {
        let off = try await run("people", "ali", "--as", "bob")
        #expect(off.code == 1 && off.errors.contains("(feature-off)"), "\(off)")
        let wrong = try await run("settings", "--directory", "some")
        #expect(wrong.code == 1 && wrong.errors.contains("nobody, sharedConversations, everyone"), "\(wrong)")
        #expect(try await run("settings", "--directory", "sharedConversations").code == 0)
        #expect(try await admin.call("PUT", "/v1/users/alice", #"{"name":"Alice Ö"}"#).status == 200)
        #expect(try await run("people", "ali", "--as", "bob").output == "alice  Alice Ö\n")
        #expect(try await run("people", "zz", "--as", "bob", "--json").output == "")
        let acts = try await run("admin", "audit", "--action", "change-settings")
        #expect(acts.code == 0 && acts.output.contains("  change-settings  directory"), "\(acts)")
        #expect(acts.output.split(separator: "\n").count == 1)
        let unknown = try await run("admin", "audit", "--action", "applaud")
        #expect(unknown.code == 1 && unknown.errors.contains("action must be one of ban,"), "\(unknown)")
        let none = try await run("admin", "deliveries", "none")
        #expect(none.code == 1 && none.errors.contains("webhook"), "\(none)")
    }
}
