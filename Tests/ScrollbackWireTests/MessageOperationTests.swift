import ScrollbackModel
import ScrollbackWire
import Testing

@Suite("Operations on messages")
struct MessageOperationTests {
    private static let path = ["conversation": "group:g", "id": Sample.id.description]

    private func http<Request: ChatOperation>(
        _ type: Request.Type, body: String = "{}", query: [String: [String]] = [:]
    ) throws -> Request {
        var json = JSONReader(body)
        var reader = RequestReader(
            path: Self.path, query: query, body: try JSONMembers(&json), limits: .standard)
        return try Request(from: &reader)
    }

    @Test("An HTTP body has the members that a frame has in an object")
    func bodies() throws {
        let submission = #"{"id":"\#(Sample.id)","type":"text","content":{"text":"a"},"customType":"b"}"#
        let sent = try SendMessage(frame: #"{"type":"send","ref":1,"conversation":"group:g","message":\#(submission)}"#)
        #expect(try http(SendMessage.self, body: submission).submission == sent.submission)

        let edit = #""content":{"text":"a"},"metadata":null,"customType":"b""#
        let members = #""conversation":"group:g","id":"\#(Sample.id)","operation":"\#(Sample.operation)""#
        let edited = try EditMessage(frame: #"{"type":"edit","ref":1,\#(members),"edit":{\#(edit)}}"#)
        #expect(edited.edit == MessageEdit(.text("a"), metadata: .remove, customType: .set("b")))
        #expect(try http(EditMessage.self, body: "{\(edit)}").edit == edited.edit)

        let action = #""type":"reaction","value":"+1""#
        let added = try AddAction(frame: #"{"type":"action","ref":1,\#(members),"action":{\#(action)}}"#)
        #expect(added.action == ActionContent(type: "reaction", value: "+1"))
        #expect(try http(AddAction.self, body: "{\(action)}").action == added.action)
    }

    @Test("Strict handling refuses the members of a message to send that only imported messages have")
    func membersOfImportedMessages() throws {
        for member in [#""sender":"bob""#, #""sentAt":"2026-11-20T09:00:00.000Z""#, #""sender":7"#] {
            let submission = #"{"id":"\#(Sample.id)","type":"text","content":{"text":"a"},\#(member)}"#
            var json = JSONReader(submission)
            var reader = RequestReader(
                path: Self.path, query: [:], body: try JSONMembers(&json), limits: .standard)
            _ = try SendMessage(from: &reader)
            try reader.refuseUnknownNames(besides: [], includingBody: false)
            let error = #expect(throws: ChatError.self) {
                try reader.refuseUnknownNames(besides: [], includingBody: true)
            }
            #expect(error?.code == .invalidParameter)
            #expect(error?.parameter == (member.contains("sentAt") ? "sentAt" : "sender"))
        }
    }

    @Test("A request with the name that only the other transport has is refused")
    func namesOfTheOtherTransport() throws {
        func parameter<Request: ChatOperation>(_ request: () throws -> Request) -> String? {
            #expect(throws: ChatError.self) { try request() }?.parameter
        }
        let (path, time) = (["conversation": "group:g", "user": "bob"], #""2030-01-01T00:00:00Z""#)
        func ban(_ body: String) throws -> BanUser {
            var json = JSONReader(body)
            var reader = RequestReader(path: path, query: [:], body: try JSONMembers(&json), limits: .standard)
            return try BanUser(from: &reader)
        }
        #expect(try ban(#"{"expiresIn":60}"#).lifetime == 60)
        #expect(parameter { try ban(#"{"until":\#(time)}"#) } == "until")

        let frame = #"{"type":"ban","ref":1,"conversation":"group:g","user":"bob""#
        #expect(try BanUser(frame: #"\#(frame),"until":\#(time)}"#).until != nil)
        #expect(parameter { try BanUser(frame: #"\#(frame),"expiresIn":60}"#) } == "expiresIn")

        let list = #"{"type":"actions","ref":1,"conversation":"group:g""#
        #expect(try ListActions(frame: #"\#(list),"after":"7"}"#).after == Timetoken(rawValue: 7))
        #expect(parameter { try ListActions(frame: #"\#(list),"cursor":"7"}"#) } == "cursor")
    }

    @Test("An edit without a type is one of a text, and the error of other content names the type")
    func editWithoutType() throws {
        func refusal(_ body: String) -> ChatError? {
            #expect(throws: ChatError.self) { try http(EditMessage.self, body: body) }
        }
        let image = #""content":{"url":"https://example.com/a.png"}"#
        #expect(try http(EditMessage.self, body: #"{"type":"image",\#(image)}"#).edit.content.type == .image)
        #expect(try http(EditMessage.self, body: #"{"content":{"text":"a"}}"#).edit.content.type == .text)
        let error = refusal("{\(image)}")
        #expect(error?.parameter == "type" && error?.message.contains("set type to it") == true)
        #expect(refusal(#"{"type":"text",\#(image)}"#)?.parameter == "content")
        #expect(refusal(#"{"content":{"text":7}}"#)?.parameter == "content")
        #expect(refusal(#"{"content":{"text":"a","linkPreview":7}}"#)?.parameter == "linkPreview")
    }

    @Test("Only WebSocket requests must have an operation key")
    func operationKeys() throws {
        #expect(try http(DeleteHistory.self, query: ["all": ["true"]]).operation == nil)
        let key = Sample.operation.description
        #expect(
            try http(DeleteHistory.self, query: ["all": ["true"], "operation": [key]]).operation == Sample.operation)
        let error = #expect(throws: ChatError.self) {
            try DeleteHistory(frame: #"{"type":"deleteHistory","ref":1,"conversation":"group:g","all":true}"#)
        }
        #expect(error?.parameter == "operation")
    }

    @Test(
        "A parameter that may be missing is refused when it is null",
        arguments: [
            (#""type":"delete","ids":["\#(Sample.id)"],"for":null"#, "for"),
            (#""type":"deleteHistory","operation":"\#(Sample.id)","from":"latest","all":null"#, "all"),
            (#""type":"actions","limit":null"#, "limit"), (#""type":"search","text":"a","limit":null"#, "limit"),
            (#""type":"fetch","conversations":null"#, "conversations"), (#""type":"fetch","cursor":null"#, "cursor"),
        ])
    func nulls(members: String, parameter: String) throws {
        let frame = try RequestFrame(Array(#"{"ref":1,"conversation":"group:g",\#(members)}"#.utf8))
        let types: [any ClientOperation.Type] = [
            DeleteMessages.self, DeleteHistory.self, ListActions.self, SearchMessages.self, FetchHistory.self,
        ]
        let type = try #require(types.first { $0.endpoint.frame == frame.type })
        var reader = RequestReader(frame: frame.members, limits: .standard)
        let error = #expect(throws: ChatError.self) { _ = try type.init(from: &reader) }
        #expect(error?.code == .invalidParameter && error?.parameter == parameter)
    }

    @Test("The documentation lists every parameter once per transport")
    func documentation() {
        let edit = RequestDocumentation(of: EditMessage.self).parameters
        #expect(
            edit.filter { $0.transport != .webSocket }.map(\.name)
                == [
                    "conversation", "id", "type", "content", "mentions", "metadata", "extra", "customType", "operation",
                ])
        #expect(
            edit.filter { $0.transport != .http }.map(\.name) == ["conversation", "id", "edit", "operation"])
        let send = RequestDocumentation(of: SendMessage.self).parameters
        #expect(send.map(\.name) == ["conversation", "message"] && send.last?.isBody == true)
        #expect(RequestDocumentation(of: GetHistory.self).parameters.count == 20)
        #expect(!RequestDocumentation(of: FetchHistory.self).parameters.contains { $0.name == "cursor" })
    }

    @Test("Unknown push options are refused with the nearest name, but only if the client prefers strict handling")
    func unknownPushOptions() throws {
        func refusal(_ push: String, isStrict: Bool = true) throws -> ChatError? {
            var json = JSONReader(
                #"{"id":"0198f3c2-7c1e-7000-8000-0123456789ab","type":"text","content":{"text":"x"},"push":\#(push)}"#)
            let body = try JSONMembers(&json)
            var reader = RequestReader(
                path: ["conversation": "group:swift"], query: [:], body: body, limits: .standard)
            #expect(try SendMessage(from: &reader).submission.attributes.push?.text == push)
            do throws(ChatError) {
                try reader.refuseUnknownNames(besides: [], includingBody: isStrict)
                return nil
            } catch { return error }
        }
        #expect(try refusal(#"{"pushTitle":"t"}"#, isStrict: false) == nil)
        #expect(try refusal(#"{"title":"t","ios":{"threadID":"i"}}"#) == nil)
        for (push, parameter, nearest) in [
            (#"{"pushTitle":"t"}"#, "push.pushTitle", "push.title"),
            (#"{"templateId":"i"}"#, "push.templateId", "push.templateID"),
            (#"{"iOSConfig":{}}"#, "push.iOSConfig", "push.ios"),
            (
                #"{"android":{"huawei":{"categoryHW":"IM"}}}"#, "push.android.huawei.categoryHW",
                "push.android.huawei.category"
            ),
        ] {
            let error = try refusal(push)
            #expect(error?.code == .invalidParameter && error?.parameter == parameter)
            #expect(error?.message.contains("Did you mean \(nearest)?") == true, "\(String(describing: error))")
        }
        let listed = try refusal(#"{"sound":"bell"}"#)
        #expect(listed?.message.contains("push, which has: title, text, data") == true)
    }
}
