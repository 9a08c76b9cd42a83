import Foundation
import ScrollbackModel

extension MemoryRows {
    // MARK: Reading

    func media(_ id: MediaID) -> MediaRow? { media[id] }

    func media(unusedBefore time: Date, limit: Int) -> [MediaRow] {
        let all = media.values.filter { $0.unusedSince.map { $0 < time } ?? false }
        return Array(all.sorted { ($0.unusedSince ?? time, $0.id) < ($1.unusedSince ?? time, $1.id) }.prefix(limit))
    }

    func media(createdBefore time: Date, limit: Int) -> [MediaRow] {
        let all = media.values.filter { $0.createdAt < time }
        return Array(all.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }.prefix(limit))
    }

    func isUsed(_ blob: BlobID) -> Bool { media.values.contains { $0.blob == blob || $0.thumbnail?.blob == blob } }

    func conversation(using media: MediaID, after number: Int64) -> Int64? {
        uses.lazy.filter { $0.media == media && $0.conversation > number }.map(\.conversation).min()
    }

    func firstUse(of media: MediaID, at places: SeqRange, in conversation: Int64) -> Seq? {
        uses.lazy.filter { $0.media == media && $0.conversation == conversation && places.contains($0.seq) }
            .map(\.seq).min()
    }

    func uses(at places: SeqRange, in conversation: Int64, limit: Int) -> [MediaUseRow] {
        let all = uses.filter { $0.conversation == conversation && places.contains($0.seq) }
        return Array(all.sorted { ($0.seq, $0.media) < ($1.seq, $1.media) }.prefix(limit))
    }

    func upload(_ id: UploadID) -> UploadRow? { uploads[id] }

    func openUploads(of user: UserID) -> Int { uploads.values.count { $0.owner == user && $0.state == .open } }

    func openUploadBytes(of user: UserID) -> Int64 {
        uploads.values.filter { $0.owner == user && $0.state == .open }.reduce(0) { $0 + $1.occupiedBytes }
    }

    func usage(of user: UserID) -> UsageRow? { usages[user] }

    func uploads(touchedBefore time: Date, limit: Int) -> [UploadRow] {
        let all = uploads.values.filter { $0.touchedAt < time }
        return Array(all.sorted { ($0.touchedAt, $0.id.text) < ($1.touchedAt, $1.id.text) }.prefix(limit))
    }

    // MARK: Writing

    func put(_ row: MediaRow) { change(\.media[row.id], row) }

    func remove(_ id: MediaID) {
        change(\.media[id], nil)
    }

    func insert(_ use: MediaUseRow) {
        guard uses.insert(use).inserted else { return }
        undo.append { [unowned self] in uses.remove(use) }
    }

    func remove(_ use: MediaUseRow) {
        guard uses.remove(use) != nil else { return }
        undo.append { [unowned self] in uses.insert(use) }
    }

    func put(_ row: UploadRow) { change(\.uploads[row.id], row) }

    func put(_ usage: UsageRow, of user: UserID) { change(\.usages[user], usage) }

    func dropUsage(before day: Int64) { change(\.usages, usages.filter { $0.value.day >= day }) }

    func remove(_ id: UploadID) { change(\.uploads[id], nil) }
}
