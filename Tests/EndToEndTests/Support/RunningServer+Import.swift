import Foundation
import ScrollbackModel
import TestSupport
import Testing

extension RunningServer {
    /// Imports a chat log and prints the rate.
    ///
    /// - Returns: The numbers of messages that the import stored and skipped.
    @discardableResult
    func importLog(_ log: ChatLog, _ options: [String]) async throws -> (imported: Int, skipped: Int) {
        let start = ContinuousClock.now
        let report = try await importReport(log, options)
        let (imported, skipped) = (report.int("imported") ?? 0, report.int("skipped") ?? 0)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        // Skipped messages take time as well and would distort the rate.
        let rate = skipped == 0 ? ", \(Int(Double(imported) / seconds)) per second" : ""
        print("\(log.file.lastPathComponent) \(options): \(imported) messages imported, \(skipped) skipped\(rate)")
        return (imported, skipped)
    }

    /// Imports a chat log and returns the command's report.
    func importReport(_ log: ChatLog, _ options: [String]) async throws -> Members {
        let ended = try await Self.command(importCommand(log, options), within: 1800)
        try #require(ended.code == 0, "\(ended.errors)")
        return Members(Array(ended.output.utf8))
    }

    private func importCommand(_ log: ChatLog, _ options: [String], over proxy: TestProxy? = nil) -> [String] {
        let server = (proxy?.url ?? url).absoluteString
        return ["import", log.file.path, "--data", data.path, "--server", server, "--json"] + options
    }

    /// Imports a chat log, interrupted by kills, and finally lets the import finish.
    ///
    /// It alternately kills the import and the server, at random moments.
    ///
    /// - Parameters:
    ///   - writes: The number of writes of the whole import. One commit can contain several.
    ///   - kills: The number of kills.
    func importLogWhileKilled(
        _ log: ChatLog, _ options: [String], writes: Int, kills: Int, _ generator: inout SplitMix64
    ) async throws -> (imported: Int, skipped: Int) {
        for attempt in 0..<kills {
            // Each attempt gets a little further than the one before, which ran alone up to that point.
            let share = max(1, writes / (kills + 1))
            let target = attempt * share + Int.random(in: 1...share, using: &generator)
            let pause = generator.milliseconds(0...20)
            // The import waits for answers of some 190 bytes each. If the proxy holds one back, the import can't finish
            // before the test kills it.
            let proxy = try await TestProxy(to: self)
            proxy.hold(after: target * 190)
            let importing = try Self.run(
                importCommand(log, options, over: proxy), name: "import-\(attempt)", folder: folder)
            try await eventually("the line carries \(target) of \(writes) answers", within: 600) { () -> Bool? in
                try #require(importing.end == nil, "ended too soon: \(importing.outputText)\(importing.errorText)")
                return proxy.isHeld ? true : nil
            }
            try await Task.sleep(for: pause)
            if attempt.isMultiple(of: 2) {
                importing.kill()
                #expect(importing.end == -SIGKILL, "Attempt \(attempt): the import ended before it was killed.")
            } else {
                kill()
                let code = try await importing.waitForEnd(within: 90)
                #expect(code == 69, "Attempt \(attempt), whose server was killed: \(importing.errorText)")
                try await start()
            }
        }
        return try await importLog(log, options)
    }
}
