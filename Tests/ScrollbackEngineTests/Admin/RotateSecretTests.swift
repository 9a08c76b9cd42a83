import Foundation
import ScrollbackModel
import ScrollbackWire
import Synchronization
import TestSupport
import Testing

@testable import ScrollbackEngine

/// The request of an administrator for a new secret, and the connections with tokens of the old one.
@Suite("Rotation of the secret that signs tokens")
struct RotateSecretTests {
    private let admin = EngineHarness.admin
    private let rotation = SecretRotation(
        key: "new", delay: 20, signsAt: Date(timeIntervalSince1970: 20), retiresAt: Date(timeIntervalSince1970: 30))

    @Test("The server gets the overlap in seconds, and the audit log has the ID of the new secret")
    func request() async throws {
        let harness = try EngineHarness()
        let overlaps = Mutex<[TimeInterval]>([])
        harness.engine.onSecretRotation { [rotation] overlap in
            overlaps.withLock { $0.append(overlap) }
            return rotation
        }
        #expect(try harness.perform(RotateSecret(overlapDays: 7), by: admin).rotation == rotation)
        #expect(overlaps.withLock { $0 } == [7 * 86_400])
        let acts = try harness.perform(ListAudit(action: .rotateSecret, page: Paging(limit: 10)), by: admin).acts
        #expect(acts.map(\.row.detail) == ["new"])
    }

    @Test("The overlap is 30 days by default, and at most 366")
    func overlap() throws {
        func days(_ body: String) throws -> Int {
            var json = JSONReader(body)
            var reader = RequestReader(path: [:], query: [:], body: try JSONMembers(&json), limits: .standard)
            return try RotateSecret(from: &reader).overlapDays
        }
        #expect(try days("{}") == 30)
        #expect(try days(#"{"overlapDays":0}"#) == 0)
        #expect(try days(#"{"overlapDays":366}"#) == 366)
        for wrong in ["367", "-1", "1.5", #""7""#] {
            let error = refusal { _ = try days("{\"overlapDays\":\(wrong)}") }
            #expect(error?.status == 422 || error?.status == 400, "\(wrong): \(error as Any)")
        }
    }

    @Test("Users can't rotate the secret, and a server without tokens has none")
    func refusals() throws {
        let harness = try EngineHarness()
        let request = RotateSecret(overlapDays: 0)
        #expect(refusal { _ = try harness.perform(request, by: Caller(user: "alice")) }?.code == .forbidden)
        #expect(refusal { _ = try harness.perform(request, by: admin) }?.code == .conflict)
    }

    @Test("Connections with tokens of a retired secret are closed, and others stay open")
    func connections() throws {
        let harness = try EngineHarness()
        let sessions = SessionHarness(harness)
        let (old, new) = (sessions.device("alice of old"), sessions.device("bob of new"))
        let other = sessions.device("carol")
        harness.engine.closeConnections(ofRetired: ["older"])
        #expect(old.closes == [] && new.closes == [] && other.closes == [])
        harness.engine.closeConnections(ofRetired: ["old", "older"])
        #expect(old.closes == [.badToken] && new.closes == [] && other.closes == [])
    }
}
