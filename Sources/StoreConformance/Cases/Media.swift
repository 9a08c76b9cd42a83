import Foundation
import ScrollbackEngine
import ScrollbackModel

extension StoreConformance {
    static let media: [Case] = [
        Case("A file keeps its values, and its mutable fields can change") { store in
            var row = MediaRow.sample(1)
            row.name = "Photo é\u{301} 👩‍👩‍👧‍👦.jpg"
            row.pixels = Media.Size(width: 4032, height: 3024)
            try store.transaction { [row] in try $0.put(row) }
            try store.transaction { try $0.put(MediaRow.sample(2)) }
            try expectEqual(try store.read { try $0.media(row.id) }, Optional(row))
            try expectEqual(try store.read { try $0.media(MediaRow.sample(2).id) }, Optional(.sample(2)))
            row.thumbnail = MediaRow.Thumbnail(
                blob: .sample(99), size: 4096, mediaType: "image/webp", pixels: Media.Size(width: 80, height: 60),
                addedAt: Timetoken(rawValue: 1 << 63 | 5))
            row.unusedSince = nil
            row.neededUntil = Date(timeIntervalSince1970: 1_795_255_200)
            try store.transaction { [row] in try $0.put(row) }
            try expectEqual(try store.read { try $0.media(row.id) }, Optional(row))
            try store.transaction { try $0.remove(row.id) }
            try expect(try store.read { try $0.media(row.id) } == nil, "a file remains")
        },
        Case("A blob is in use while a file or a thumbnail refers to it") { store in
            var first = MediaRow.sample(1)
            let second = MediaRow.sample(2, blob: .sample(1))
            first.thumbnail = MediaRow.Thumbnail(
                blob: .sample(7), size: 1, mediaType: "image/png", pixels: Media.Size(width: 1, height: 1))
            func used() throws -> [Bool] { try store.read { try [$0.isUsed(.sample(1)), $0.isUsed(.sample(7))] } }
            try expectEqual(try used(), [false, false])
            try store.transaction { [first] store in
                try store.put(first)
                try store.put(second)
            }
            try expectEqual(try used(), [true, true])
            try store.transaction { try $0.remove(first.id) }
            try expectEqual(try used(), [true, false])
            try store.transaction { try $0.remove(second.id) }
            try expectEqual(try used(), [false, false])
        },
        Case("References to a file are found by file, by conversation and by sequence number") { store in
            let (a, b) = (MediaRow.sample(1).id, MediaRow.sample(2).id)
            let places: [(MediaID, Int64, Seq)] = [(a, 3, 5), (a, 3, 9), (b, 3, 5), (a, 8, 1)]
            let uses = places.map { media, conversation, seq in
                MediaUseRow(media: media, conversation: conversation, seq: seq)
            }
            try store.transaction { store in
                for use in uses + uses { try store.insert(use) }
            }
            try store.read { store in
                try expectEqual(try store.conversation(using: a, after: 0), 3)
                try expectEqual(try store.conversation(using: a, after: 3), 8)
                try expect(try store.conversation(using: a, after: 8) == nil, "a conversation is found twice")
                try expectEqual(try store.conversation(using: b, after: 0), 3)
                try expectEqual(try store.firstUse(of: a, at: 9...9, in: 3), 9)
                try expectEqual(try store.firstUse(of: a, at: 6...8, in: 3), nil)
                try expectEqual(try store.firstUse(of: b, at: 1...Seq.max, in: 8), nil)
                try expectEqual(try store.uses(at: 1...Seq.max, in: 3, limit: 9), [uses[0], uses[2], uses[1]])
                try expectEqual(try store.uses(at: 5...5, in: 3, limit: 1), [uses[0]])
            }
            try store.transaction { try $0.remove(uses[0]) }
            try expectEqual(try store.read { try $0.uses(at: 5...5, in: 3, limit: 9) }, [uses[2]])
            try store.transaction { store in
                try store.put(MediaRow.sample(1))
                try store.remove(a)
            }
            // References outlive the file's row.
            try expectEqual(try store.read { try $0.conversation(using: a, after: 0) }, 3)
        },
        Case("Files are listed by the time of their last reference or of their creation") { store in
            let rows = (1...5).map { MediaRow.sample($0) }
            try store.transaction { store in
                for var row in rows.shuffled() {
                    if row.id == rows[1].id { row.unusedSince = nil }
                    try store.put(row)
                }
            }
            try store.read { store in
                let time = rows[4].createdAt
                try expectEqual(try store.media(unusedBefore: time, limit: 2).map(\.id), [rows[0].id, rows[2].id])
                try expectEqual(try store.media(unusedBefore: rows[0].createdAt, limit: 9), [])
                try expectEqual(
                    try store.media(createdBefore: time, limit: 9).map(\.id), rows[..<4].map(\.id))
            }
        },
        Case("What a user adds in a day is stored, replaced, forgotten with the user and dropped with earlier days") {
            store in
            let first = UsageRow(
                day: 20_000, growth: Growth(groups: 1, members: 2, fileBytes: 1 << 40, messageBytes: 4))
            let second = UsageRow(day: 20_001, growth: Growth(messageBytes: 7))
            try store.transaction { store in
                try store.put(first, of: "alice")
                try store.put(first, of: "bob")
                try store.put(first, of: "carol")
            }
            try expectEqual(try store.read { try $0.usage(of: "alice") }, Optional(first))
            try store.transaction { store in
                try store.put(second, of: "alice")
                try store.forget("carol")
                try expect(try store.usage(of: "carol") == nil, "a forgotten user has amounts")
                try store.dropUsage(before: 20_001)
            }
            try store.read { store in
                try expectEqual(try store.usage(of: "alice"), Optional(second))
                try expect(try store.usage(of: "bob") == nil, "amounts of an earlier day remain")
            }
        },
        Case("An upload keeps its values and is found by its owner and its age") { store in
            let time = Date(timeIntervalSince1970: 1_700_000_000.25)
            var rows = (0..<4).map { UploadRow.sample($0, touchedAt: time.addingTimeInterval(Double($0))) }
            rows[3].owner = "bob"
            try store.transaction { [rows] store in
                for row in rows { try store.put(row) }
            }
            for row in rows { try expectEqual(try store.read { try $0.upload(row.id) }, Optional(row)) }
            try expectEqual(try store.read { try $0.openUploads(of: "alice") }, 3)
            let open = rows.prefix(3).reduce(0) { $0 + max($1.length ?? 0, $1.offset) }
            try expectEqual(try store.read { try $0.openUploadBytes(of: "alice") }, open)
            rows[1].offset = 1 << 33
            rows[1].length = 1 << 34
            rows[1].state = .done
            rows[1].touchedAt = time.addingTimeInterval(9)
            try store.transaction { [rows] in try $0.put(rows[1]) }
            try store.read { store in
                try expectEqual(try store.upload(rows[1].id), Optional(rows[1]))
                try expectEqual(try store.openUploads(of: "alice"), 2)
                let open = [rows[0], rows[2]].reduce(0) { $0 + max($1.length ?? 0, $1.offset) }
                try expectEqual(try store.openUploadBytes(of: "alice"), open)
                let before = try store.uploads(touchedBefore: time.addingTimeInterval(3), limit: 9)
                try expectEqual(before, [rows[0], rows[2]])
            }
            try store.transaction { try $0.remove(rows[0].id) }
            try expect(try store.read { try $0.upload(rows[0].id) } == nil, "an upload remains")
        },
        Case("A failed transaction does not change files") { store in
            let row = MediaRow.sample(1)
            let use = MediaUseRow(media: row.id, conversation: 1, seq: 2)
            let upload = UploadRow(owner: "a", conversation: .group("g"), type: .file, touchedAt: row.createdAt)
            try store.transaction { store in
                try store.put(row)
                try store.insert(use)
                try store.put(upload)
            }
            try expectError("a transaction that throws") {
                try store.transaction { store in
                    try store.remove(row.id)
                    try store.put(MediaRow.sample(2))
                    try store.insert(MediaUseRow(media: MediaRow.sample(2).id, conversation: 1, seq: 2))
                    try store.remove(upload.id)
                    throw ChatError(.conflict, "undone")
                }
            }
            try store.read { store in
                try expectEqual(try store.media(row.id), Optional(row))
                try expectEqual(try store.uses(at: 1...9, in: 1, limit: 9), [use])
                try expect(try store.media(MediaRow.sample(2).id) == nil, "a file remains")
                try expectEqual(try store.upload(upload.id), Optional(upload))
            }
        },
    ]
}

extension BlobID {
    static func sample(_ number: Int) -> BlobID { BlobID(of: Array("\(number)".utf8)) }
}

extension UploadRow {
    static func sample(_ number: Int, touchedAt: Date) -> UploadRow {
        let length: Int64? = number == 1 ? nil : 1 << 40
        return UploadRow(
            owner: "alice", conversation: .direct(between: "alice", and: "bob"), type: .voice,
            name: number == 0 ? nil : "n\(number)", length: length, expected: number == 2 ? .sample(3) : nil,
            touchedAt: touchedAt)
    }
}

extension MediaRow {
    static func sample(_ number: Int, blob: BlobID? = nil) -> MediaRow {
        MediaRow(
            id: MediaID(MessageID(number).uuid), owner: "alice", conversation: .group("a"), type: .image,
            mediaType: "image/jpeg", size: Int64(number) << 33, blob: blob ?? .sample(number),
            createdAt: Date(timeIntervalSince1970: 1_700_000_000.5 + Double(number)))
    }
}
