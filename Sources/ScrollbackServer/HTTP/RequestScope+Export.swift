import Foundation
import Hummingbird
import NIOCore
import ScrollbackEngine
import ScrollbackModel
import ScrollbackWire

extension RequestScope {
    /// The lifetime of links to files in an export, in seconds: one week.
    private static let linkLifetime: TimeInterval = 7 * 24 * 60 * 60

    /// Streams all data of a user, one JSON object per line.
    ///
    /// The last line contains the number of preceding records, so that the client can detect an incomplete export.
    ///
    /// Each part waits for its turn among the searches and exports of all users.
    func export(_ user: UserID, for owner: WorkOwner) async throws(ChatError) -> Response {
        // Report errors of the first read before the response starts.
        let first = try await read(for: owner) { engine in try PersonalData(of: user).next(engine) }
        let scope = self
        let body = ResponseBody { writer in
            var data = first.data
            var records = first.records
            var count = 0
            while true {
                var lines: [UInt8] = []
                for record in records ?? [] { lines += try await scope.line(record, of: user) + [UInt8(ascii: "\n")] }
                count += records?.count ?? 0
                if records == nil {
                    var end = JSONWriter()
                    end.object { writer in
                        writer.field("record", "end")
                        writer.field("records", count)
                    }
                    lines += end.bytes + [UInt8(ascii: "\n")]
                }
                try await writer.write(ByteBuffer(bytes: lines))
                if records == nil { break }
                let known = data
                let next = try await scope.read(for: owner) { engine in try known.next(engine) }
                data = next.data
                records = next.records
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson"], body: body)
    }

    private func line(_ record: PersonalData.Record, of user: UserID) async throws -> [UInt8] {
        var link: String?
        if case .file(let row) = record {
            // The link has the user's visibility and becomes invalid when the user loses access.
            let token = try await tokens.token(
                for: MediaLink(media: row.id, isThumbnail: false), by: Caller(user: user),
                expiresAt: engine.clock().addingTimeInterval(Self.linkLifetime))
            link = "/v1/media/\(row.id)?token=\(token)"
        }
        var writer = JSONWriter(reserving: 512)
        writer.object { record.writeMembers(to: &$0, link: link) }
        return writer.line
    }
}
