import Foundation
import Scrollback
import ScrollbackModel
import Synchronization
import TestSupport
import Testing

@Suite("Backups under load")
struct BackupLoadTests {
    @Test("A backup taken while fifty users send is valid and contains every message acknowledged before it began")
    func backupUnderLoadHasEveryAcknowledgedMessage() async throws {
        let senders = 50
        let backups = Run.isLong ? 12 : 3
        let server = try await RunningServer.start()
        let groups = (0..<5).map { ConversationID.group(Identifier(stringLiteral: "load\($0)")) }
        let users = (0..<senders).map { UserID(stringLiteral: "sender\($0)") }
        for (number, group) in groups.enumerated() {
            let members = users[number * 10..<number * 10 + 10].map { "\"\($0)\"" }.joined(separator: ",")
            let answer = try await server.admin().call(
                "PUT", "/v1/conversations/\(group)", "{\"members\":[\(members)]}")
            try #require(answer.status == 201)
        }
        // Large messages make a backup take long enough.
        let filler = String(repeating: "x", count: 1_000)
        let acknowledged = Acknowledged()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (number, user) in users.enumerated() {
                let socket = try await TestSocket.signedIn(server, user)
                let group = groups[number / 10]
                tasks.addTask {
                    while !acknowledged.isOver {
                        let id = UUID()
                        let answer = try await socket.request(
                            #""type":"send","conversation":"\#(group)","message":\#(API.message(filler, id: id))"#)
                        acknowledged.add(id, at: try #require(answer.int("seq"), "\(answer.all)"), of: group)
                    }
                }
            }
            tasks.addTask {
                defer { acknowledged.end() }
                for number in 1...backups {
                    try await eventually("users send messages") { acknowledged.all.count >= number * 500 ? true : nil }
                    let before = acknowledged.all
                    let start = ContinuousClock.now
                    let (backup, report) = try await server.backUp("backup-\(number)", within: 300)
                    let during = acknowledged.all.count - before.count
                    print(
                        "backup \(number): \(report.int("messages") ?? 0) messages, \(report.int("bytes") ?? 0) bytes"
                            + " in \(ContinuousClock.now - start), \(during) sent during the backup")
                    #expect(during > 0, "No message was sent during the backup.")
                    acknowledged.record(backup, after: before)
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try await server.terminate() == 0)
        #expect(try await RunningServer.verdict(server.data).isWhole)
        for (backup, before) in acknowledged.backups { try await Self.check(backup, has: before) }
    }

    /// Restores a backup into another directory and checks that it contains the messages.
    private static func check(
        _ backup: URL, has messages: [UUID: Acknowledged.Place]
    ) async throws {
        #expect(try await RunningServer.verdict(backup).isWhole, "The backup is not intact.")
        let folder = try TemporaryFolder()
        let data = folder.url.appending(component: "data")
        let report = try await RunningServer.restore(backup, to: data)
        let verdict = try await RunningServer.verdict(data)
        #expect(verdict.isWhole, "\(verdict.text)")
        #expect((report.int("messages") ?? 0) >= messages.count)
        let server = try await RunningServer.start(folder: folder)
        for group in Set(messages.values.map(\.conversation)) {
            let stored = try await Device.everything(in: group, of: server)
            #expect(stored.map(\.seq) == Array(1...Int64(stored.count)))
            let places = Dictionary(uniqueKeysWithValues: stored.map { ($0.id, $0.seq) })
            for (id, place) in messages where place.conversation == group {
                #expect(try places[MessageID(id.uuidString)] == Int64(place.seq))
            }
        }
        #expect(try await server.terminate() == 0)
    }
}

/// The messages that the server has acknowledged.
private final class Acknowledged: Sendable {
    struct Place: Sendable {
        var seq: Int
        var conversation: ConversationID
    }

    private struct State {
        var all: [UUID: Place] = [:]
        var isOver = false
        var backups: [(URL, [UUID: Place])] = []
    }

    private let state = Mutex(State())

    func add(_ id: UUID, at seq: Int, of conversation: ConversationID) {
        state.withLock { $0.all[id] = Place(seq: seq, conversation: conversation) }
    }

    /// Records a backup and the messages that were acknowledged before it began.
    func record(_ backup: URL, after before: [UUID: Place]) { state.withLock { $0.backups.append((backup, before)) } }
    var backups: [(URL, [UUID: Place])] { state.withLock { $0.backups } }

    func end() { state.withLock { $0.isOver = true } }
    var all: [UUID: Place] { state.withLock { $0.all } }
    var isOver: Bool { state.withLock { $0.isOver } }
}
