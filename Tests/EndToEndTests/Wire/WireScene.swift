import Foundation
import PictureFixtures
import ScrollbackModel
import ScrollbackWire
import TestSupport
import Testing

/// A server with alice, bob, carol and dave, which carries out scripts and writes down what goes over the wire.
final class WireScene {
    private(set) var transcript = ""
    let server: RunningServer
    private var values = WireScript.names
    private var sockets: [String: TestSocket] = [:]
    /// The frames that each device received besides answers, since the last step.
    private var events: [String: [Members]] = [:]
    private var references = 0
    /// Far above the references of the scripts.
    private var marks = 1_000_000

    /// - Parameters:
    ///   - arguments: The arguments of the server, in addition to those of all tests.
    ///   - folder: A folder for the server, or `nil` for a new one.
    init(_ arguments: [String] = [], folder: TemporaryFolder? = nil) async throws {
        server = try await RunningServer.start(RunningServer.withoutLimits + arguments, folder: folder)
        for user in ["alice", "bob", "carol", "dave"] { values[user] = try await server.token(UserID(user)) }
        values["root"] = try await server.token("root", isAdmin: true)
        values["reader"] = try await server.token("alice", Scopes([.read]))
        values["soon"] = Date(timeIntervalSinceNow: 3600).formatted(.iso8601)
    }

    func run(_ script: String) async throws {
        for line in WireScript.lines(of: script) {
            switch line {
            case .heading(let text): write("\(text)\n")
            case .step(let step): try await run(step)
            }
        }
    }

    /// Forgets what was written down so far.
    func startTranscript() { transcript = "" }

    private func write(_ line: String) { transcript += line + "\n" }

    private func run(_ step: WireScript.Step) async throws {
        let request = WireScript.fill(step.request, values)
        let parts = request.split(separator: " ", maxSplits: 2).map(String.init)
        let (actor, verb, rest) = (parts[0], parts[1], parts.count > 2 ? parts[2] : "")
        if actor.contains("/") {
            let answer = try await exchange(verb, rest, on: actor)
            for (name, member) in step.captures { values[name] = try value(of: member, in: answer?.bytes ?? []) }
        } else {
            let answer = try await call(verb, rest, as: actor, until: step.until)
            for (name, member) in step.captures {
                // Of an address, the last segment.
                let field = member.hasPrefix("@") ? answer.headers[String(member.dropFirst())] : nil
                let segment = field?.split(separator: "/").last.map(String.init)
                values[name] = try segment ?? value(of: member, in: answer.bytes)
            }
        }
        for (device, type) in step.waits
        where !events[device, default: []].contains(where: { $0.string("type") == type }) {
            let event = try await frame(on: device) { $0.string("type") == type }
            events[device, default: []].append(try #require(event, "\(device) closed before \(type) came"))
        }
        try await writeEvents()
        write("")
    }

    /// The first member of a name, wherever in the answer it is.
    private func value(of member: String, in bytes: [UInt8]) throws -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let found = try text.firstMatch(of: Regex(#""\#(member)":"?([^",}]+)"#))?.output[1].substring
        return String(try #require(found, "\(member) is not in \(text)"))
    }

    // MARK: HTTP

    private func call(
        _ method: String, _ rest: String, as actor: String, until text: String?
    ) async throws -> Answer {
        let parsed = rest.wholeMatch(of: #/(\S+)(?: \[([A-Za-z-]+: .*?)\])?(?: (.*))?/#)
        let match = try #require(parsed, "\(rest) is no path with fields and a body")
        let (path, body) = (String(match.1), match.3.map(String.init))
        var fields: [String: String] = [:]
        for field in match.2.map({ $0.components(separatedBy: " | ") }) ?? [] {
            let parts = field.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            fields[parts[0]] = parts[1]
        }
        let shown = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
        write("> \(actor): \(method) \(path)" + (shown.isEmpty ? "" : " [\(shown)]"))
        if let body { write("> \(body)") }

        let file = body.flatMap { $0.hasPrefix("@") ? PictureFixture.directory.appending(path: $0.dropFirst()) : nil }
        let bytes = try file.map { try Array(Data(contentsOf: $0)) } ?? body.map { Array($0.utf8) }
        let type = fields["Content-Type"] ?? "application/json"
        let api = API(server: server.url, token: values[actor])
        let answer: Answer = try await eventually("\(method) \(path) answers \(text ?? "")") {
            let answer = try await api.call(method, path, bytes: bytes, type: type, headers: fields)
            return text.map { answer.text.contains($0) } ?? true ? answer : nil
        }
        write("< \(answer.status)")
        for (name, value) in answer.headers.sorted(by: { $0.key < $1.key }) {
            let isLength = name == "content-length" && (method != "HEAD" || answer.status >= 400)
            if !isLength, !["date", "server", "transfer-encoding"].contains(name) { write("< \(name): \(value)") }
        }
        guard !answer.bytes.isEmpty else { return answer }
        // Both describe what the server is, not what a request does.
        let isOmitted = ["/metrics", "/openapi.json"].contains(path)
        let content =
            String(bytes: answer.bytes, encoding: .utf8) ?? "base64:" + Data(answer.bytes).base64EncodedString()
        for line in isOmitted ? ["…"] : content.split(separator: "\n") { write("< \(line)") }
        return answer
    }

    // MARK: WebSocket

    private func exchange(_ verb: String, _ rest: String, on device: String) async throws -> Members? {
        let members = rest.isEmpty ? "" : ",\(rest)"
        let names = device.split(separator: "/")
        let text: String
        switch verb {
        case "raw", "connectRaw": text = rest
        case "connect":
            let token = values[String(names[0])] ?? ""
            text = #"{"type":"hello","token":"\#(token)","device":"\#(names[1])"\#(members)}"#
        default:
            references += 1
            text = #"{"type":"\#(verb)","ref":\#(references)\#(members)}"#
        }
        if verb.hasPrefix("connect") { sockets[device] = try await TestSocket.open(server.url) }
        write("> \(device): \(text)")
        let socket = try #require(sockets[device], "\(device) is not connected")
        socket.send(text)
        let answer = try await frame(on: device) { ["welcome", "result", "error"].contains($0.string("type") ?? "") }
        if let answer { write("< \(String(decoding: answer.bytes, as: UTF8.self))") }
        return answer
    }

    /// The next frame that is wanted; the frames before it are events.
    ///
    /// - Returns: `nil` if the server closed the connection.
    private func frame(on device: String, where isWanted: (Members) -> Bool) async throws -> Members? {
        let socket = try #require(sockets[device], "\(device) is not connected")
        do {
            return try await socket.next { frame in
                if isWanted(frame) { return true }
                events[device, default: []].append(frame)
                return false
            }
        } catch is ChildProcess.Failure {
            // This throws unless the connection is closed.
            _ = try await socket.closed(within: 0)
            return nil
        }
    }

    /// Writes down the events that the step caused.
    ///
    /// The server queues them before it answers the step, so each device has them when it has an answer to a later
    /// ping.
    private func writeEvents() async throws {
        let devices = sockets.keys.sorted()
        let mark = marks + 1
        marks += 1
        for device in devices { sockets[device]?.send(#"{"type":"ping","ref":\#(mark)}"#) }
        for device in devices {
            let isOpen = try await frame(on: device) { $0.int("ref") == mark } != nil
            for event in events[device] ?? [] { write("= \(device): \(String(decoding: event.bytes, as: UTF8.self))") }
            guard !isOpen, let socket = sockets.removeValue(forKey: device) else { continue }
            let code = try await socket.closed() ?? 0
            write("= \(device) closed: \(code)")
        }
        events = [:]
    }
}
