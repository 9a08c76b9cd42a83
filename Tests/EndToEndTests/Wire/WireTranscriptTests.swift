import Foundation
import ScrollbackPostgres
import ScrollbackServer
import TestSupport
import Testing

/// Every HTTP route and every WebSocket request, with its answer and its events, compared with recorded transcripts.
///
/// With `SCROLLBACK_WRITE_TRANSCRIPTS=1` the tests write the transcripts instead. `SCROLLBACK_BINARY` is the path of
/// another server to use.
@Suite struct WireTranscriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(component: "Transcripts")

    @Test(arguments: WireScript.areas.keys.sorted())
    func `Requests, answers and events match the recorded transcript`(area: String) async throws {
        let transcript = try await Self.transcript(of: area, WireScene())
        if ProcessInfo.processInfo.environment["SCROLLBACK_WRITE_TRANSCRIPTS"] == "1" {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            return try transcript.write(to: Self.file(of: area), atomically: true, encoding: .utf8)
        }
        try Self.compare(transcript, area)
    }

    @Test(.needs(.postgres), arguments: WireScript.areas.keys.sorted())
    func `With a PostgreSQL store, requests, answers and events match the same transcript`(area: String) async throws {
        let database = try PostgresDatabase()
        let scene = try await WireScene(["--store", database.makeSchema().text])
        try await Self.compare(Self.transcript(of: area, scene), area)
    }

    private static func transcript(of area: String, _ scene: WireScene) async throws -> String {
        try await scene.run(WireScript.scene)
        scene.startTranscript()
        try await scene.run(try #require(WireScript.areas[area]))
        var normalizer = TranscriptNormalizer()
        return try normalizer.normalize(scene.transcript)
    }

    private static func file(of area: String) -> URL { folder.appending(component: "\(area).txt") }

    private static func compare(_ transcript: String, _ area: String) throws {
        let file = file(of: area)
        let recorded = try String(contentsOf: file, encoding: .utf8)
        if transcript != recorded {
            Issue.record("\(area).txt differs from what the server does now:\n\(changes(recorded, transcript))")
        }
    }

    /// The first steps that differ, with their lines that went and came.
    private static func changes(_ recorded: String, _ transcript: String) -> String {
        let (before, after) = (recorded.components(separatedBy: "\n\n"), transcript.components(separatedBy: "\n\n"))
        var report = before.count == after.count ? [] : ["The script changed: \(before.count) to \(after.count) steps."]
        for (old, new) in zip(before, after).filter({ $0 != $1 }).prefix(5) {
            let lines = (old: old.components(separatedBy: "\n"), new: new.components(separatedBy: "\n"))
            let difference = lines.new.difference(from: lines.old)
            report.append("  " + lines.old[0])
            for case .remove(_, let line, _) in difference.removals { report.append("- " + line) }
            for case .insert(_, let line, _) in difference.insertions { report.append("+ " + line) }
        }
        return report.joined(separator: "\n")
    }

    @Test func `Every HTTP route and every WebSocket request has a step`() {
        var unused = Set(APISurface.operations.map { "\($0.method) \($0.path)" } + APISurface.requests.keys)
        for case .step(let step) in WireScript.areas.values.flatMap(WireScript.lines(of:)) {
            let words = WireScript.fill(step.request, WireScript.names).split(separator: " ").map(String.init)
            guard !words[0].contains("/") else {
                unused.remove(words[1])
                continue
            }
            let path = words[2].prefix { $0 != "?" }.split(separator: "/")
            let routes = APISurface.operations.filter { route in
                let template = route.path.split(separator: "/")
                return route.method == words[1] && template.count == path.count
                    && zip(template, path).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
            }
            // As in the router, a literal segment goes before a parameter, which begins with a later character.
            if let route = routes.min(by: { $0.path < $1.path }) { unused.remove("\(route.method) \(route.path)") }
        }
        #expect(unused.isEmpty, "\(unused.sorted())")
    }
}
