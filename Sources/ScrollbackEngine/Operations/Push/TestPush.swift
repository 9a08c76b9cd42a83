package import ScrollbackModel
package import ScrollbackWire

/// Sends a test push to a user's devices.
package struct TestPush: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/users/{user}/push"), scope: .admin, callers: .administrator, cost: .write,
        tag: .server,
        summary: "Send a test push to a user's devices",
        details: """
            The server sends the push once, right away, even to online users and during quiet hours. The answer shows \
            whether each push service accepted it.
            """)

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init(
                "devices",
                .array(
                    .object([
                        .init("device", .component("Name")),
                        .init("service", .string()),
                        .init("outcome", .choice(["sent", "gone", "later", "refused"])),
                        .init("reason", .string(), isRequired: false, "Why the service didn't accept the push."),
                    ])))
        ])

        package var devices: [PushTestResult]

        package func writeMembers(to writer: inout JSONWriter) {
            writer.key("devices")
            writer.array(devices) { $1.write(to: &$0) }
        }
    }

    package var user: UserID
    /// `nil` sends to all devices of the user.
    package var device: Identifier?

    package init(user: UserID, device: Identifier? = nil) {
        self.user = user
        self.device = device
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        user = try request.required("user")
        device = try request.optional("device", "Sends only to this device.")
    }
}

extension TestPush: Executable {
    package func execute(_ context: OperationContext, completion: @escaping Engine.Completion<Answer>) {
        Task {
            do throws(ChatError) {
                let devices = try await context.engine.sendTestPush(to: user, device: device, by: context.caller)
                try await context.engine.audit(.testPush, by: context.caller, of: user)
                completion(.success(Answer(devices: devices)))
            } catch {
                completion(.failure(error))
            }
        }
    }
}

extension PushTestResult {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("device", device)
            writer.field("service", service.rawValue)
            switch outcome {
            case .sent: writer.field("outcome", "sent")
            case .gone:
                writer.field("outcome", "gone")
                writer.field("reason", "the service no longer knows the device")
            case .later(_, let reason):
                writer.field("outcome", "later")
                writer.field("reason", reason)
            case .refused(let reason):
                writer.field("outcome", "refused")
                writer.field("reason", reason)
            }
        }
    }
}
