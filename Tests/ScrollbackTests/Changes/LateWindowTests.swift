import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackTesting
import Testing

@testable import Scrollback

@Suite("Late windows")
struct LateWindowTests {
    @Test("The late answer to an earlier request for a window does not end the sync pass")
    func lateAnswerToAnEarlierRequest() async throws {
        let server = try TestServer(users: ["alice"])
        let core = try await server.disconnectedClient("alice").core
        let driver = Driver(
            core: core, outbox: Outbox(restoring: [], pace: nil),
            push: PushRegistration(of: Identifier(known: "phone")))
        func window(isDone: Bool) -> Result<[UInt8], ChatError> {
            .success(Array(#"{"heads":[],"cursor":"a","done":\#(isDone)}"#.utf8))
        }
        driver.perform(driver.resume.connected(cursor: nil))
        await driver.windowAnswered(1, .failure(Driver.timeout))
        driver.perform(driver.resume.tick(now: .distantFuture))
        await driver.windowAnswered(2, window(isDone: false))
        await driver.windowAnswered(1, window(isDone: true))
        #expect(!driver.pass.window.isLast)
        await server.close()
    }
}
