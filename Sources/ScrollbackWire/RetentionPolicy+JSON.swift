package import ScrollbackModel

extension RetentionPolicy {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .days(let days): writer.value(days)
        case .forever: writer.value("forever")
        }
    }

    /// Reads a number of days or `"forever"`.
    package init(from reader: inout JSONReader, _ parameter: String = "retentionDays") throws(ChatError) {
        if reader.nextIsString {
            guard try reader.string() == "forever" else {
                throw .invalidParameter(parameter, "must be a number of days or \"forever\"")
            }
            self = .forever
        } else {
            self = try RetentionPolicy.days(reader.days(parameter)).validated(parameter)
        }
    }
}

extension JSONReader {
    fileprivate mutating func days(_ parameter: String) throws(ChatError) -> Int {
        guard let days = Int(exactly: try integer()) else { throw .invalidParameter(parameter, "must be in range") }
        return days
    }
}
