import Foundation
package import ScrollbackModel
package import ScrollbackWire

/// Replaces the secret that signs the server's own tokens, on all nodes.
package struct RotateSecret: ChatOperation {
    package static let endpoint = Endpoint(
        http: .post("/v1/admin/secret"), scope: .admin, callers: .administrator, cost: .write, tag: .server,
        summary: "Replace the secret that signs tokens",
        details: """
            First, all nodes accept tokens of the new secret. After `delaySeconds`, they sign with it, and each one \
            replaces its administrator token. Until then, another request gets 409. Connections whose token is of an \
            earlier secret are closed with code 4001 when that secret is retired.
            """,
        errors: [409])

    package struct Answer: OperationAnswer {
        package static let schema: JSONSchema? = .object([
            .init("key", .string(), "The ID of the new secret, which is the `kid` of its tokens."),
            .init("delaySeconds", .integer(0...Int.max), "After how many seconds all nodes sign with the new secret."),
            .init("signsAt", .component("Time"), "The time at which all nodes sign with the new secret."),
            .init("retiresAt", .component("Time"), "The time after which no token of the earlier secret is accepted."),
        ])

        package var rotation: SecretRotation

        package func writeMembers(to writer: inout JSONWriter) {
            writer.field("key", rotation.key)
            writer.field("delaySeconds", Int(rotation.delay))
            writer.field("signsAt", rotation.signsAt)
            writer.field("retiresAt", rotation.retiresAt)
        }
    }

    /// For how many days tokens of the earlier secrets stay valid, unless the request says otherwise.
    package static let standardOverlap = 30
    package static let overlaps = 0...366

    package var overlapDays: Int

    package init(overlapDays: Int) {
        self.overlapDays = overlapDays
    }

    package init(from request: inout RequestReader) throws(ChatError) {
        let days = try request.optional(
            "overlapDays", .integer(Self.overlaps), example: "30",
            "For how many days tokens of the earlier secret stay valid. The default is \(Self.standardOverlap)."
        ) { (value) throws(ChatError) in
            guard let days = Int(exactly: try value.integer()), Self.overlaps.contains(days) else {
                throw .invalidParameter(
                    "overlapDays", "must be in \(Self.overlaps)", limit: Self.overlaps.upperBound)
            }
            return days
        }
        overlapDays = days ?? Self.standardOverlap
    }
}

extension RotateSecret: ReadOperation {
    package func run(_ engine: Engine, _ caller: Caller) throws -> Answer {
        Answer(rotation: try engine.rotateSecret(overlap: Double(overlapDays) * 86_400, by: caller))
    }
}
