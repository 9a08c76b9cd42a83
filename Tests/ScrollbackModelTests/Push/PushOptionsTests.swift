import ContractRows
import Foundation
import ScrollbackModel
import Testing

@Suite("Push options")
struct PushOptionsTests {
    /// Each member, with a value of the configuration and one of the arguments.
    private static let members: [(name: String, own: String, other: String)] = [
        ("title", #""own""#, #""other""#), ("text", #""own""#, #""other""#), ("data", #""own""#, #""other""#),
        ("templateID", #""own""#, #""other""#), ("hidesTitle", "false", "true"), ("forcesDetail", "false", "true"),
        ("ios", #"{"threadID":"own"}"#, #"{"threadID":"other"}"#),
        ("android", #"{"notificationID":"own"}"#, #"{"notificationID":"other"}"#),
        ("harmony", #"{"category":"OWN"}"#, #"{"category":"OTHER"}"#),
    ]

    private func options(_ members: [(name: String, value: String)]) throws -> PushOptions {
        try PushOptions(RawJSON("{\(members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ","))}"))
    }

    @Test(
        "Each member of the configuration takes precedence over the argument, which replaces a missing one",
        .rows(126, 130))
    func precedence() throws {
        #expect(Mirror(reflecting: PushOptions()).children.compactMap(\.label) == Self.members.map(\.name))
        let arguments = try options(Self.members.map { ($0.name, $0.other) })
        #expect(PushOptions().withDefaults(from: arguments) == arguments)
        #expect(arguments.withDefaults(from: PushOptions()) == arguments)
        for member in Self.members {
            let merged = try options([(member.name, member.own)]).withDefaults(from: arguments)
            let expected = try options(Self.members.map { ($0.name, $0.name == member.name ? $0.own : $0.other) })
            #expect(merged == expected, "\(member.name)")
        }
    }
}
