import ContractRows
import Foundation
import OfflineWeek
import PictureFixtures
import Scrollback
import ScrollbackModel
import ScrollbackPictureScaling
import TestSupport
import Testing

@Suite("A week offline")
struct OfflineWeekTests {
    /// The app runs in a process of its own, so that the test can kill it as the system kills apps.
    @Test(
        "Texts, pictures and files queued offline arrive once, in order and intact, despite kills, cuts and restarts",
        .rows(91, 97, 103, 104), .timeLimit(.minutes(20)))
    func queuedItemsArriveOnceInOrder() async throws {
        let count = Run.isLong ? 300 : 50
        var generator = SplitMix64(printingSeedFor: "a week offline")
        let week = OfflineWeek()
        let server = try await RunningServer.start(RunningServer.withoutLimits)
        let proxy = try await TestProxy(to: server)
        for number in 0..<OfflineWeek.conversations {
            let answer = try await server.admin().call(
                "PUT", "/v1/conversations/\(week.conversation(of: number))", #"{"members":["alice","bob"]}"#)
            try #require(answer.status == 201)
        }
        let store = server.folder.appending(component: "phone")
        let token = try await server.token("alice", lifetime: 7 * 24 * 3600)
        let picture = PictureFixture.directory.appending(path: "photo-1600x1200.jpg")
        func run(_ mode: String, _ number: Int) throws -> ChildProcess {
            try ChildProcess(
                try RunningServer.program(named: "offline-app"),
                [mode, proxy.url.absoluteString, store.path, token, String(count), picture.path],
                name: "app-\(mode)-\(number)", folder: server.folder)
        }

        // Queue the messages without a network, in an app that is killed repeatedly.
        server.kill()
        var runs = 0
        while true {
            runs += 1
            let app = try run("queue", runs)
            let patience = runs > 4 ? .seconds(600) : generator.milliseconds(60...800)
            if let code = try await app.end(within: patience) {
                try #require(code == 0, "\(app.outputText) \(app.errorText)")
                break
            }
            app.kill()
        }
        print("queued \(count) in \(runs) runs of the app")

        // Send them over a proxy that is cut half of the time, to a server that is killed three times.
        try await server.start()
        let start = ContinuousClock.now
        var (kills, restarts, cuts) = (0, 0, 0)
        var app = try run("send", 0)
        while true {
            let isUp = !generator.next().isMultiple(of: 2)
            proxy.set(isUp ? .full : .held)
            if !isUp {
                proxy.cut()
                cuts += 1
            }
            // The network is available only for short periods until all kills and restarts have happened.
            let isHard = restarts < 3 || kills < 4
            if let code = try await app.end(within: generator.milliseconds(isHard ? 20...120 : 100...700)) {
                try #require(code == 0, "\(app.outputText) \(app.errorText)")
                break
            }
            if restarts < 3, generator.next().isMultiple(of: 4) {
                restarts += 1
                server.kill()
                try await server.start()
            }
            if kills < count / 5, generator.next().isMultiple(of: 3) {
                kills += 1
                app.kill()
                app = try run("send", kills)
            }
        }
        proxy.set(.full)
        print(
            """
            sent in \(ContinuousClock.now - start): app killed \(kills) times, line cut \(cuts) times, \
            server killed \(restarts) times
            """)
        try await check(week, count, server)
    }

    private func check(_ week: OfflineWeek, _ count: Int, _ server: RunningServer) async throws {
        let expected = try PictureScaler().messagePictures(PictureFixture.named("photo-1600x1200.jpg"))
        let bob = try await Device.open(server, "bob")
        var files = 0
        for conversation in 0..<min(count, OfflineWeek.conversations) {
            let id = week.conversation(of: conversation)
            let messages = try await Device.everything(in: id, of: server)
            let numbers = messages.compactMap { week.number(of: $0) }
            #expect(numbers == Array(stride(from: conversation, to: count, by: OfflineWeek.conversations)))
            for (message, number) in zip(messages, numbers) {
                switch week.item(number) {
                case .text(let text): #expect(message.text == text)
                case .image:
                    let media = try #require(message.content?.media)
                    #expect(try Data(contentsOf: await bob.media.file(for: media)) == expected.picture.jpeg)
                    let thumbnail = try #require(try await bob.media.thumbnail(for: media))
                    #expect(try Data(contentsOf: thumbnail) == expected.thumbnail.jpeg)
                    files += 1
                case .file(let data):
                    let media = try #require(message.content?.media)
                    #expect(try Data(contentsOf: await bob.media.file(for: media)) == data)
                    #expect(media.name == "file \(number).bin")
                    files += 1
                }
            }
        }
        print("\(count) messages in order, \(files) files intact")
        await bob.close()
    }
}
