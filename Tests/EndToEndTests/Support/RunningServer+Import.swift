import Foundation
import Testing

extension RunningServer {
    /// Imports a chat log, whatever it takes.
    ///
    /// - Returns: how many messages came and how many were there.
    @discardableResult
    func importLog(_ log: ChatLog, _ options: [String]) async throws -> (imported: Int, skipped: Int) {
        let start = ContinuousClock.now
        let ended = try await Self.command(importCommand(log, options), within: 1800)
        try #require(ended.code == 0, "\(ended.errors)")
        let report = Members(Array(ended.output.utf8))
        let (imported, skipped) = (report.int("imported") ?? 0, report.int("skipped") ?? 0)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        // What a run skips takes time as well, and says nothing of the rate.
        let rate = skipped == 0 ? ", \(Int(Double(imported) / seconds)) a second" : ""
        print("\(log.file.lastPathComponent) \(options): \(imported) messages, \(skipped) there already\(rate)")
        return (imported, skipped)
    }

    private func importCommand(_ log: ChatLog, _ options: [String], over line: TestLine? = nil) -> [String] {
        let server = (line?.url ?? url).absoluteString
        return ["import", log.file.path, "--data", data.path, "--server", server, "--json"] + options
    }

    /// Imports a chat log and kills the import, then the server under it, again and again, at random moments, before it
    /// is let run to its end.
    ///
    /// - Parameters:
    ///   - commits: about how many the whole import takes.
    ///   - kills: how often.
    func importLogWhileKilled(
        _ log: ChatLog, _ options: [String], commits: Int, kills: Int, _ generator: inout SeededGenerator
    ) async throws -> (imported: Int, skipped: Int) {
        for attempt in 0..<kills {
            // Each comes a little further than the last one, which had it all to itself up to there.
            let share = max(1, commits / (kills + 1))
            let target = attempt * share + Int.random(in: 1...share, using: &generator)
            let pause = generator.milliseconds(0...20)
            // Slow answers, of some 250 bytes: an import that is through before it is looked at can't be killed.
            let line = try await TestLine(to: self, speed: .bytesPerSecond(max(300, commits * 250 / 8)))
            let before = try await metric("scrollback_commit_seconds_count")
            let importing = try Self.run(
                importCommand(log, options, over: line), name: "import-\(attempt)", folder: folder)
            try await eventually("the import makes \(target) commits", within: 600) { () -> Bool? in
                try #require(importing.end == nil, "too soon: \(importing.outputText)\(importing.errorText)")
                return try await self.metric("scrollback_commit_seconds_count") - before >= target ? true : nil
            }
            try await Task.sleep(for: pause)
            if attempt.isMultiple(of: 2) {
                importing.kill()
                #expect(importing.end == -SIGKILL, "attempt \(attempt) was through already")
            } else {
                kill()
                let code = try await importing.waitForEnd(within: 90)
                #expect(code == 69, "attempt \(attempt), whose server was killed: \(importing.errorText)")
                try await start()
            }
        }
        return try await importLog(log, options)
    }
}
