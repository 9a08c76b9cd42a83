import Hummingbird
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension Route {
    /// Where the caller is reached by push.
    static let push: [Route] = [
        Route(.get, "/v1/push/devices", .readDevices) { scope, request, _ throws(ChatError) in
            let caller = try await scope.caller(request)
            let devices = try await scope.read { try $0.pushDevices(of: caller.user, by: caller) }
            return respond { writer in
                writer.key("devices")
                writer.array(devices) { $1.write(to: &$0) }
            }
        },
        Route(.put, "/v1/push/devices/{device}", .changeDevices) { scope, request, context throws(ChatError) in
            let shutOuts = scope.engine.shutOuts
            let caller = try await scope.caller(request)
            let id = try scope.device(context)
            var fields = PushDeviceFields()
            try await scope.object(request) { (name, value) throws(ChatError) in
                if try !fields.read(name, &value) { try value.skip() }
            }
            let device = try fields.device(id)
            let stored = try await scope.write {
                $0.putPushDevice(device, of: caller.user, by: caller, since: shutOuts, completion: $1)
            }
            return respond { writer in
                writer.field("device", stored.id)
                stored.writeMembers(to: &writer)
            }
        },
        Route(.delete, "/v1/push/devices/{device}", .changeDevices) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let id = try scope.device(context)
            try await scope.write { $0.dropPushDevice(id, of: caller.user, by: caller, completion: $1) }
            return Response(status: .noContent)
        },
        Route(.post, "/v1/admin/users/{user}/push", .testPush) { scope, request, context throws(ChatError) in
            let caller = try await scope.caller(request)
            let user = try UserID(try scope.segment("user", context))
            var device: Identifier?
            try await scope.object(request) { (name, value) throws(ChatError) in
                guard name == "device" else { return try value.skip() }
                device = try value.null() ? nil : Identifier(try value.string(), parameter: "device")
            }
            let trials = try await scope.engine.tryPush(to: user, device: device, by: caller)
            return respond { writer in
                writer.key("devices")
                writer.array(trials) { $1.write(to: &$0) }
            }
        },
    ]
}

extension RequestScope {
    fileprivate func device(_ context: BasicRequestContext) throws(ChatError) -> Identifier {
        try Identifier(try segment("device", context), parameter: "device")
    }
}

extension PushTrial {
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
