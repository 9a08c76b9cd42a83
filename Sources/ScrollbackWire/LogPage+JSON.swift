package import ScrollbackModel

extension LogHead {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.field("head", head)
        writer.field("firstSeq", firstSeq)
        writer.field("n", countedIndex)
        writer.field("rev", rev)
        writer.field("epoch", epoch)
        writer.field("view", view)
    }
}

/// The parsed members of a log's head, which may be part of an object with other members.
package struct LogHeadFields {
    var head: Seq?
    var firstSeq: Seq?
    var countedIndex: Int64?
    var rev: Int64?
    var epoch: Epoch?
    var view: Int64?

    package init() {}

    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "head": head = try value.counter()
        case "firstSeq": firstSeq = try value.counter()
        case "n": countedIndex = try value.counter()
        case "rev": rev = try value.counter()
        case "epoch": epoch = try value.epoch()
        case "view": view = try value.counter()
        default: return false
        }
        return true
    }

    package func state() throws(ChatError) -> LogHead {
        let (head, firstSeq) = (try head.required("head"), try firstSeq.required("firstSeq"))
        guard firstSeq >= 1, firstSeq - 1 <= head else {
            throw .invalidParameter("firstSeq", "must be at least 1, and at most one more than head")
        }
        return LogHead(
            epoch: try epoch.required("epoch"), view: try view.required("view"), head: head, firstSeq: firstSeq,
            countedIndex: try countedIndex.required("n"), rev: try rev.required("rev"))
    }
}

extension SeqRangeSet {
    /// Writes the ranges as pairs of sequence numbers, both inclusive.
    package func write(to writer: inout JSONWriter) {
        writer.array(ranges) { writer, range in
            writer.array([range.lowerBound, range.upperBound]) { $0.value($1) }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        self.init()
        var ranges = SeqRangeSet()
        try reader.array { (pair) throws(ChatError) in
            let ends = try pair.list("voids", limit: 2) { (end) throws(ChatError) in try end.counter() }
            guard ends.count == 2, ends[0] <= ends[1] else {
                throw .invalidParameter("voids", "must be [lower, upper]")
            }
            ranges.insert(ends[0]...ends[1])
        }
        self = ranges
    }
}

extension Coverage {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("lower", lower)
            writer.field("upper", upper)
            writer.key("voids")
            deletedRanges.write(to: &writer)
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var lower: Seq?
        var upper: Seq?
        var deletedRanges = SeqRangeSet()
        try reader.object { (name, value) throws(ChatError) in
            switch name {
            case "lower": lower = try value.counter()
            case "upper": upper = try value.counter()
            case "voids": deletedRanges = try SeqRangeSet(from: &value)
            default: try value.skip()
            }
        }
        self.init(lower: try lower.required("lower"), upper: try upper.required("upper"), deletedRanges: deletedRanges)
    }
}

extension LogPage {
    package func writeMembers(to writer: inout JSONWriter) {
        writer.key("messages")
        writer.array { writer in
            for message in messages { message.write(to: &writer) }
        }
        writer.key(isFiltered ? "scanned" : "covered")
        coverage.write(to: &writer)
        writer.field("older", older?.rawValue)
        writer.field("newer", newer?.rawValue)
        state.writeMembers(to: &writer)
        if !actions.isEmpty {
            writer.key("actions")
            writer.array(actions) { writer, action in writer.object { action.writeMembers(to: &$0) } }
        }
    }

    package init(from reader: inout JSONReader) throws(ChatError) {
        var fields = LogPageFields()
        try reader.object { (name, value) throws(ChatError) in
            if try !fields.read(name, &value) { try value.skip() }
        }
        self = try fields.page()
    }
}

/// The parsed members of a page, which may be part of an object with other members.
package struct LogPageFields {
    var messages: [Message] = []
    var coverage: Coverage?
    var isFiltered = false
    var older: HistoryCursor?
    var newer: HistoryCursor?
    var state = LogHeadFields()
    var actions: [MessageAction] = []

    package init() {}

    package mutating func read(_ name: String, _ value: inout JSONReader) throws(ChatError) -> Bool {
        switch name {
        case "messages":
            messages = try value.list("messages", limit: 5_000) { (message) throws(ChatError) in
                try Message(from: &message)
            }
        case "covered": coverage = try Coverage(from: &value)
        case "scanned":
            coverage = try Coverage(from: &value)
            isFiltered = true
        case "older": older = HistoryCursor(rawValue: try value.string())
        case "newer": newer = HistoryCursor(rawValue: try value.string())
        case "actions":
            actions = try value.list("actions", limit: 100_000) { (action) throws(ChatError) in
                try MessageAction(from: &action)
            }
        default: return try state.read(name, &value)
        }
        return true
    }

    package func page() throws(ChatError) -> LogPage {
        LogPage(
            messages: messages, coverage: try coverage.required("covered"), isFiltered: isFiltered, older: older,
            newer: newer, state: try state.state(), actions: actions)
    }
}
