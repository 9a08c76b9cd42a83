import Foundation
import Testing

extension RunningServer {
    /// Imports a chat log, whatever it takes.
    ///
    /// - Returns: how many messages came and how many were there.
    @discardableResult
    func importLog(_ log: ChatLog, _ options: [String]) async throws -> (imported: Int, skipped: Int) {
        let start = ContinuousClock.now
        let report = try await importReport(log, options)
        let (imported, skipped) = (report.int("imported") ?? 0, report.int("skipped") ?? 0)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        // What a run skips takes time as well, and says nothing of the rate.
        let rate = skipped == 0 ? ", \(Int(Double(imported) / seconds)) a second" : ""
        print("\(log.file.lastPathComponent) \(options): \(imported) messages, \(skipped) there already\(rate)")
        return (imported, skipped)
    }

    /// Imports a chat log, and gives the command's report.
    func importReport(_ log: ChatLog, _ options: [String]) async throws -> Members {
        let ended = try await Self.command(importCommand(log, options), within: 1800)
        try #require(ended.code == 0, "\(ended.errors)")
        return Members(Array(ended.output.utf8))
    }

    private func importCommand(_ log: ChatLog, _ options: [String], over line: TestLine? = nil) -> [String] {
        let server = (line?.url ?? url).absoluteString
        return ["import", log.file.path, "--data", data.path, "--server", server, "--json"] + options
    }

    /// Imports a chat log and kills the import, then the server under it, again and again, at random moments, before it
    /// is let run to its end.
    ///
    /// - Parameters:
    ///   - writes: how many the whole import takes: one commit may have several.
    ///   - kills: how often.
    func importLogWhileKilled(
        _ log: ChatLog, _ options: [String], writes: Int, kills: Int, _ generator: inout SeededGenerator
    ) async throws -> (imported: Int, skipped: Int) {
        for attempt in 0..<kills {
            // Each comes a little further than the last one, which had it all to itself up to there.
            let share = max(1, writes / (kills + 1))
            let target = attempt * share + Int.random(in: 1...share, using: &generator)
            let pause = generator.milliseconds(0...20)
            // The import waits for answers, of some 190 bytes: one that is held half way can't be through before it is killed.
            let line = try await TestLine(to: self)
            line.hold(after: target * 190)
            let importing = try Self.run(
                importCommand(log, options, over: line), name: "import-\(attempt)", folder: folder)
            try await eventually("the line carries \(target) of \(writes) answers", within: 600) { () -> Bool? in
                try #require(importing.end == nil, "too soon: \(importing.outputText)\(importing.errorText)")
                return line.isHeld ? true : nil
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
