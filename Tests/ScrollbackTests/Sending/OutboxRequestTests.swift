import ScrollbackModel
import ScrollbackWire
import Testing

@testable import Scrollback

@Suite("Stored requests of the outbox")
struct OutboxRequestTests {
    private static let id = "0198f3c2-7c1e-7000-8000-0123456789ab"
    private static let operation = "0198f3c2-7c1e-7000-8000-0123456789ac"

    private static let about = #""conversation":"group:g","id":"\#(id)""#
    private static let key = #""operation":"\#(operation)""#
    private static let reaction = #""action":{"type":"reaction","value":"👍"}"#
    private static let edit = #"{"type":"text","content":{"text":"a"},"metadata":null,"customType":"b"}"#
    private static let message = #"{"id":"\#(id)","type":"text","content":{"text":"a"}}"#

    /// Texts that earlier versions of the SDK stored.
    private static let stored = [
        #"{"type":"send","ref":0,"conversation":"group:g","message":\#(message)}"#,
        #"{"type":"edit","ref":0,\#(about),\#(key),"edit":\#(edit)}"#,
        #"{"type":"delete","ref":0,"conversation":"group:g","ids":["\#(id)","\#(operation)"]}"#,
        #"{"type":"delete","ref":0,"conversation":"direct:bob","ids":["\#(id)"],"for":"me"}"#,
        #"{"type":"action","ref":0,\#(about),\#(key),\#(reaction)}"#,
        #"{"type":"removeAction","ref":0,\#(about),\#(reaction),\#(key)}"#,
        #"{"type":"clear","ref":0,"conversation":"group:g","seq":9,"epoch":"18446744073709551615"}"#,
    ]

    @Test("A request that an earlier version stored opens, and its text stays the same", arguments: stored)
    func earlierVersions(text: String) throws {
        #expect(try OutboxRequest(stored: text, limits: .standard).stored == text)
    }

    @Test("Only requests of the outbox open")
    func others() throws {
        let error = #expect(throws: ChatError.self) {
            try OutboxRequest(stored: #"{"type":"ping","ref":0}"#, limits: .standard)
        }
        #expect(error?.code == .localStorage)
        let broken = #expect(throws: ChatError.self) { try OutboxRequest(stored: "{", limits: .standard) }
        #expect(broken?.code == .malformed)
    }
}
