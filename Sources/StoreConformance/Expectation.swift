import Foundation
import Synchronization

/// A store did not do what a case expects.
package struct ExpectationFailed: Error, CustomStringConvertible {
    package var text: String
    package var file: String
    package var line: UInt

    package var description: String { "\(file):\(line): \(text)" }
}

func expect(
    _ condition: Bool, _ text: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) throws {
    if !condition { throw ExpectationFailed(text: text(), file: "\(file)", line: line) }
}

func expectEqual<Value: Equatable>(
    _ value: Value, _ expected: Value, _ what: @autoclosure () -> String = "the answer", file: StaticString = #fileID,
    line: UInt = #line
) throws {
    try expect(value == expected, "\(what()) is \(brief(value)), not \(brief(expected))", file: file, line: line)
}

/// What a failing function threw.
@discardableResult
func expectError(
    _ what: String, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Void
) throws -> any Error {
    do {
        try body()
    } catch {
        return error
    }
    throw ExpectationFailed(text: "\(what) threw nothing", file: "\(file)", line: line)
}

private func brief(_ value: some Any) -> String {
    let text = "\(value)"
    return text.count > 600 ? text.prefix(600) + "… (\(text.count) characters)" : text
}

/// Runs functions at the same time, each on a thread of its own, and throws what one of them threw.
func together(_ bodies: [@Sendable () throws -> Void]) throws {
    let race = Race()
    for body in bodies {
        race.running.enter()
        Thread.detachNewThread {
            do {
                try body()
            } catch {
                race.failure.withLock { $0 = error }
            }
            race.running.leave()
        }
    }
    race.running.wait()
    if let error = race.failure.withLock({ $0 }) { throw error }
}

private final class Race: Sendable {
    let running = DispatchGroup()
    let failure = Mutex<(any Error)?>(nil)
}
