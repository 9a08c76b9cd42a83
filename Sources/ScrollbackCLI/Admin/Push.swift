import ArgumentParser
import Foundation
import ScrollbackModel
import ScrollbackWire

struct Push: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List registered push devices and send test pushes.",
        discussion: """
            Configure push services with `serve --push-credentials` or PUT /v1/settings (push.services). Apps register \
            their devices.

            Examples:
              scrollback push devices --as alice
              scrollback push test alice
              scrollback push test alice --device phone --json
            """,
        subcommands: [PushDevices.self, PushTest.self])
}

struct PushDevices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List the push devices of a user.")

    @Option(name: .customLong("as"), help: "The user whose devices to list.", transform: ScrollbackCLI.user)
    var user: UserID

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        try await reporting {
            let devices = try await connection.api(as: user).object("GET", "/v1/push/devices") {
                (reader) throws(ChatError) in
                var devices: [PushDevice] = []
                try reader.object { (name, value) throws(ChatError) in
                    guard name == PushDevice.listName else { return try value.skip() }
                    devices = try value.list(name, limit: 1000) { (device) throws(ChatError) in
                        try PushDevice(from: &device)
                    }
                }
                return devices
            }
            for device in devices {
                if connection.json {
                    Output.json { writer in
                        writer.field("device", device.id)
                        device.writeMembers(to: &writer)
                    }
                } else {
                    let topic = device.topic.map { "  \($0)" } ?? ""
                    Output.line("\(device.id)  \(device.service.rawValue)\(topic)")
                }
            }
        }
    }
}

struct PushTest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a test push to a user's devices and print the responses.",
        discussion: "Exits with status 1 if a service does not accept the push.")

    @Argument(help: "The user whose devices get the push.", transform: ScrollbackCLI.user)
    var user: UserID

    @Option(help: "Only this device (default: all devices of the user).")
    var device: String?

    @OptionGroup var connection: ConnectionOptions

    private struct TestResult {
        var device = ""
        var service = ""
        var outcome = ""
        var reason: String?
    }

    func run() async throws {
        var results: [TestResult] = []
        try await reporting {
            results = try await connection.adminAPI().object(
                "POST", "/v1/admin/users/\(ServerAPI.escape(user))/push", body: { $0.field("device", device) }
            ) { (reader) throws(ChatError) in
                var results: [TestResult] = []
                try reader.object { (name, value) throws(ChatError) in
                    guard name == "devices" else { return try value.skip() }
                    results = try value.list(name, limit: 1000) { (result) throws(ChatError) in try Self.result(&result)
                    }
                }
                return results
            }
            for result in results { show(result) }
        }
        guard results.allSatisfy({ $0.outcome == "sent" }) else { throw Exit.failed }
    }

    private static func result(_ reader: inout JSONReader) throws(ChatError) -> TestResult {
        var result = TestResult()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "device": result.device = try value.string()
            case "service": result.service = try value.string()
            case "outcome": result.outcome = try value.string()
            case "reason": result.reason = try value.string()
            default: try value.skip()
            }
        }
        return result
    }

    private func show(_ result: TestResult) {
        guard connection.json else {
            let reason = result.reason.map { ": \($0)" } ?? ""
            return Output.line("\(result.device)  \(result.service)  \(result.outcome)\(reason)")
        }
        Output.json { writer in
            writer.field("device", result.device)
            writer.field("service", result.service)
            writer.field("outcome", result.outcome)
            writer.field("reason", result.reason)
        }
    }
}
