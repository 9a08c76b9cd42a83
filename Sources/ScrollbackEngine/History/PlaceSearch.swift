package import ScrollbackModel

extension StoreReader {
    /// The newest place that satisfies `isAtOrBefore`, which must hold for a message whenever it holds for a later
    /// one; `firstSeq - 1` if none does.
    ///
    /// Times and running numbers rise with the place, so finding one is a binary search on the primary key: no index of
    /// their own is written with every message.
    package func lastPlace(
        in conversation: ConversationRow, where isAtOrBefore: (PlaceRow) throws -> Bool
    ) throws -> Seq {
        var low = conversation.firstSeq - 1
        var high = conversation.head
        while low < high {
            let middle = low + (high - low + 1) / 2
            // Places whose message is gone are passed over to the one below.
            guard let row = try place(atOrBelow: middle, in: conversation.number), row.seq > low else {
                low = middle
                continue
            }
            if try isAtOrBefore(row) { low = middle } else { high = row.seq - 1 }
        }
        return low
    }

    /// The newest place of a time or before it.
    ///
    /// A hole that begins or lies there is before it, and so is what went below the floor: how much of it really was is
    /// not known once its rows are gone, and what somebody was told as their place must not go back.
    func place(atOrBefore time: Timetoken, in conversation: ConversationRow) throws -> Seq {
        if conversation.timetoken <= time { return conversation.head }
        let place = try lastPlace(in: conversation) { $0.timetoken <= time }
        guard conversation.hasVoids else { return place }
        let hole = try voids(of: nil, in: conversation.number).first { $0.places.contains(place + 1) }
        return hole?.places.upperBound ?? place
    }
}
