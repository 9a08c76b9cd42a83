import Foundation

extension SoakLoad {
    /// Sends requests of all kinds at a constant rate, and reconnects after 20 to 40 seconds.
    func usePhone(of number: Int) {
        var phone = SoakPhone(load: self, number: number)
        var next = now() + Double(number) / Double(users) / rate
        while !isOver {
            sleep(until: next)
            next = max(next + 1 / rate, now())
            if !isOver { phone.step() }
        }
        phone.disconnect()
    }
}

/// The device of one user that sends requests.
private struct SoakPhone {
    let load: SoakLoad
    let number: Int
    private let group: Int
    private var random: SplitMix
    private var web: RawWebSocket?
    private var http: PlainHTTP?
    private var reconnectsAt = 0.0
    /// The newest own texts in the group, at most 20.
    private var sent: [String] = []
    private var position: (seq: String, epoch: String)?

    init(load: SoakLoad, number: Int) {
        self.load = load
        self.number = number
        group = number / SoakLoad.membersPerGroup
        random = SplitMix(seed: load.seed &+ UInt64(number))
    }

    private var token: String { load.tokens[number] }
    private var conversation: String { #""conversation":"group:soak\#(group)""# }

    mutating func disconnect() {
        web?.close()
        web = nil
        http = nil
    }

    private static let words = "alpha bridge candle data early forest garden harbour island journey".split(
        separator: " ")

    /// Sends one random request.
    mutating func step() {
        if now() > reconnectsAt {
            disconnect()
            reconnectsAt = now() + Double.random(in: 20...40, using: &random)
        }
        let dice = Int.random(in: 0..<100, using: &random)
        switch dice {
        case 0..<42: send()
        case 42..<56: markRead()
        case 56..<64: edit()
        case 64..<71: delete()
        case 71..<76: react()
        case 76..<80: socket("settings", #""type":"settings",\#(conversation),"pinned":\#(dice == 76)"#)
        case 80..<87: request("page", "GET", load.path(group) + "/messages?limit=50")
        case 87..<92: request("list", "GET", "/v1/conversations?limit=50")
        case 92..<95: request("search", "GET", "/v1/search?text=\(word())&limit=20")
        case 95..<98: upload()
        default: changeGroup()
        }
    }

    private mutating func word() -> Substring { Self.words[Int.random(in: 0..<Self.words.count, using: &random)] }

    private mutating func text() -> String {
        (0..<Int.random(in: 5...80, using: &random)).map { _ in String(word()) }.joined(separator: " ")
    }

    // MARK: Messages

    private mutating func send(_ content: String? = nil, type: String = "text") {
        let content = content ?? #"{"text":"\#(text())"}"#
        let id = UUID().uuidString.lowercased()
        let message = #"{"id":"\#(id)","type":"\#(type)","content":\#(content)}"#
        guard let result = socket("send", #""type":"send",\#(conversation),"message":\#(message)"#) else { return }
        if type == "text" { sent = sent.suffix(19) + [id] }
        if let seq = Self.member("seq", in: result), let epoch = Self.member("epoch", in: result) {
            position = (seq, epoch)
        }
    }

    private mutating func markRead() {
        guard let position else { return send() }
        socket("read", #""type":"read",\#(conversation),"seq":\#(position.seq),"epoch":"\#(position.epoch)""#)
    }

    private mutating func edit() {
        guard let id = sent.randomElement(using: &random) else { return send() }
        let edit = #"{"content":{"text":"\#(text())"}}"#
        socket("edit", #""type":"edit",\#(conversation),"id":"\#(id)","operation":"\#(UUID())","edit":\#(edit)"#)
    }

    private mutating func delete() {
        guard let id = sent.randomElement(using: &random) else { return send() }
        sent.removeAll { $0 == id }
        socket("delete", #""type":"delete",\#(conversation),"ids":["\#(id)"],"for":"everyone""#)
    }

    private mutating func react() {
        guard let id = sent.last else { return send() }
        let action = #"{"type":"reaction","value":"\#(word())"}"#
        socket(
            "action", #""type":"action",\#(conversation),"id":"\#(id)","operation":"\#(UUID())","action":\#(action)"#)
    }

    /// Uploads one of 4 files and sends it.
    private mutating func upload() {
        var media: String?
        let content = Array("file \(number) \(Int.random(in: 0..<4, using: &random))".utf8)
        let path = "/v1/media?conversation=group:soak\(group)&type=file&name=notes.bin"
        overHTTP("upload") { load, http, token in
            let answer = try http.upload(path, load.headers(token), size: 20_000, start: content, pattern: [0])
            guard answer.isSuccess else { throw BenchError(answer.reason) }
            media = Self.member("media", in: Array(answer.text.utf8))
        }
        if let media { send(#"{"media":"\#(media)"}"#, type: "file") }
    }

    /// As an administrator, renames the group, or removes another member and adds that member again.
    private mutating func changeGroup() {
        let path = load.path(group)
        guard Bool.random(using: &random) else {
            let name = word()
            return overHTTP("rename") { load, http, _ in
                try load.call(http, "PUT", path, #"{"name":"\#(name)"}"#, as: load.admin)
            }
        }
        let members = load.members(of: group)
        let member = "\(path)/members/\(user(members[Int.random(in: members.indices, using: &random)]))"
        overHTTP("member") { load, http, _ in
            try load.call(http, "DELETE", member, nil, as: load.admin)
            try load.call(http, "PUT", member, "{}", as: load.admin)
        }
    }

    // MARK: Connections

    /// Sends a request over the WebSocket, which it opens if necessary, and returns the result.
    @discardableResult
    private mutating func socket(_ name: String, _ members: String) -> [UInt8]? {
        if web == nil {
            load.measure("connect") {
                var opened = try RawWebSocket(load.server, timeout: 30)
                try opened.signIn(token: token, device: "phone")
                web = opened
            }
        }
        guard var web else { return nil }
        var result: [UInt8]?
        load.measure(name) {
            do {
                result = try web.request(members)
            } catch {
                forget(after: error)
                throw error
            }
        }
        if self.web != nil { self.web = web }
        return result
    }

    private mutating func request(_ name: String, _ method: String, _ path: String) {
        overHTTP(name) { load, http, token in try load.call(http, method, path, nil, as: token) }
    }

    private mutating func overHTTP(_ name: String, _ body: (SoakLoad, PlainHTTP, String) throws -> Void) {
        load.measure(name) {
            do {
                let http = try self.http ?? PlainHTTP(load.server, timeout: 30)
                self.http = http
                try body(load, http, token)
            } catch {
                if !(error is BenchError) { http = nil }
                throw error
            }
        }
    }

    /// Forgets what a deleted group makes invalid, and a connection that has ended.
    private mutating func forget(after error: any Error) {
        (sent, position) = ([], nil)
        if !(error is BenchError) || "\(error)".hasPrefix("close code") { web = nil }
    }

    /// Returns the first value of a member, without quotation marks.
    private static func member(_ name: String, in bytes: [UInt8]) -> String? {
        guard let range = bytes.firstRange(of: Array("\"\(name)\":".utf8)) else { return nil }
        let end = Set("\",}".utf8)
        let value = bytes[range.upperBound...].drop { $0 == UInt8(ascii: "\"") }.prefix { !end.contains($0) }
        return String(decoding: value, as: UTF8.self)
    }
}
