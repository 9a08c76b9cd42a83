import ArgumentParser
import Foundation
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

/// A fixed amount of work: the same operations with the same input in each run.
enum FixedWork: String, CaseIterable, ExpressibleByArgument {
    case append
    case sendFrame = "send-frame"
    case page
    case clientPage = "client-page"
    case fanOut = "fan-out"
    case fanOutLanes = "fan-out-lanes"
    case catchUp = "catch-up"
    case recents
    case index

    /// Does the work once, given the number of the round.
    typealias Work = (_ round: Int) async throws -> Void

    /// The number of operations in a round.
    var count: Int {
        switch self {
        case .append: 2_000
        case .sendFrame: 500
        case .page, .clientPage: 400
        case .fanOut, .fanOutLanes: 300
        case .catchUp: 10
        case .recents: 20
        case .index: 2_000
        }
    }

    /// What one operation is.
    var unit: String {
        switch self {
        case .append: "durable append over 50 conversations, in transactions of 128"
        case .sendFrame: "send frame, encoded, received by a session, appended in its own transaction, and answered"
        case .page: "page of 50 at a random position, encoded to JSON"
        case .clientPage: "page of 50 from the SDK's store"
        case .fanOut: "message to 100 WebSockets of one event loop"
        case .fanOutLanes: "message to 100 WebSockets of ten event loops"
        case .catchUp: "sync of 1,000 missed messages in 20 conversations, encoded to frames"
        case .recents: "list of the first 100 of 1,000 conversations, encoded to JSON"
        case .index: "message added to the search index"
        }
    }

    /// Creates what the work needs in an empty directory.
    func prepare(in directory: URL) async throws -> Work {
        switch self {
        case .append: try Self.appends(directory, count)
        case .sendFrame: try Self.sendFrames(directory, count)
        case .page: try Self.pages(directory, count)
        case .clientPage: try await Self.clientPages(directory, count)
        case .fanOut: try Self.fanOuts(count, lanes: 1)
        case .fanOutLanes: try Self.fanOuts(count, lanes: 10)
        case .catchUp: try Self.syncs(directory, count)
        case .recents: try Self.recentsLists(directory, count)
        case .index: try Self.indexing(directory, count)
        }
    }

    /// The time of the engine's clock in all work.
    static let clock: @Sendable () -> Date = { Date(timeIntervalSince1970: 1_795_255_200) }

    /// Ends the program if an operation failed.
    static func check<Answer>(_ result: Result<Answer, ChatError>) {
        if case .failure(let error) = result { fatalError("An operation failed: \(error)") }
    }

    /// Encodes an answer as the body of an HTTP response.
    static func encodeBody(_ answer: some OperationAnswer) -> Int {
        var writer = JSONWriter(reserving: 1024)
        writer.object { answer.writeBody(to: &$0) }
        return writer.bytes.count
    }
}

extension Engine {
    /// Runs a closure on the writer, so that the changes that it submits share transactions.
    func submitTogether(_ changes: @escaping @Sendable () -> Void) {
        commits.waitForSubmitted { _ in changes() }
    }
}
