import Foundation
import ScrollbackModel
import ScrollbackSync
import ScrollbackWire

/// A JSON value of the vectors. `nil` members of objects are left out.
enum VectorValue {
    case null
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([VectorValue])
    case object([(String, VectorValue)])
    /// An encoded value, such as a message in the form of the protocol.
    case encoded([UInt8])

    /// Creates an object from the members that `members` writes.
    init(_ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        self = .encoded(writer.bytes)
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.value(RawJSON.null)
        case .flag(let flag): writer.value(flag)
        case .integer(let number): writer.value(number)
        case .number(let number): writer.value(number)
        case .text(let text): writer.value(text)
        case .list(let elements): writer.array(elements) { $1.write(to: &$0) }
        case .object(let members):
            writer.object { writer in
                for (name, value) in members {
                    if case .null = value { continue }
                    writer.key(name)
                    value.write(to: &writer)
                }
            }
        case .encoded(let bytes): writer.splice(encoded: bytes)
        }
    }
}

extension RawJSON {
    fileprivate static let null = try! RawJSON("null")  // swift-format-ignore: NeverUseForceTry
}

extension VectorValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByNilLiteral {
    init(dictionaryLiteral members: (String, VectorValue)...) { self = .object(members) }
    init(arrayLiteral elements: VectorValue...) { self = .list(elements) }
    init(nilLiteral: ()) { self = .null }
}

extension VectorValue: ExpressibleByStringLiteral {
    init(stringLiteral text: String) { self = .text(text) }
}

/// A value that the vectors contain.
protocol VectorEncodable {
    var vector: VectorValue { get }
}

extension Bool: VectorEncodable { var vector: VectorValue { .flag(self) } }
extension Int: VectorEncodable { var vector: VectorValue { .integer(Int64(self)) } }
extension Int64: VectorEncodable { var vector: VectorValue { .integer(self) } }
extension Double: VectorEncodable { var vector: VectorValue { .number(self) } }
extension String: VectorEncodable { var vector: VectorValue { .text(self) } }
extension ConversationID: VectorEncodable { var vector: VectorValue { .text(description) } }
extension MessageID: VectorEncodable { var vector: VectorValue { .text(description) } }
extension UserID: VectorEncodable { var vector: VectorValue { .text(text) } }
extension Epoch: VectorEncodable { var vector: VectorValue { .text(description) } }
extension Timetoken: VectorEncodable { var vector: VectorValue { .text(description) } }

extension Optional: VectorEncodable where Wrapped: VectorEncodable {
    var vector: VectorValue { self?.vector ?? .null }
}

extension Array: VectorEncodable where Element: VectorEncodable {
    var vector: VectorValue { .list(map(\.vector)) }
}

extension ClosedRange<Seq>: VectorEncodable {
    var vector: VectorValue { [lowerBound.vector, upperBound.vector] }
}

extension SeqRangeSet: VectorEncodable { var vector: VectorValue { ranges.vector } }

extension Date: VectorEncodable {
    /// The time in milliseconds since 1970.
    ///
    /// All times of the vectors are multiples of a microsecond. Rounding removes the error of `Date`, which counts
    /// seconds since 2001 in binary.
    var vector: VectorValue {
        let milliseconds = (timeIntervalSince1970 * 1_000_000).rounded() / 1000
        return Int64(exactly: milliseconds)?.vector ?? milliseconds.vector
    }
}

extension ChatError: VectorEncodable {
    /// The error without its text, which is not part of the behavior.
    var vector: VectorValue { VectorValue { writeMembers(to: &$0) } }
}

extension Message: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }
extension LogHead: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }
extension LogPage: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }
extension LogSync: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }
extension ReadSummary: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }
extension ConversationHead: VectorEncodable { var vector: VectorValue { VectorValue { writeMembers(to: &$0) } } }

extension LogPosition: VectorEncodable {
    var vector: VectorValue {
        [
            "conversation": conversation.vector, "epoch": epoch.vector, "view": view.vector, "seq": seq.vector,
            "rev": rev.vector,
        ]
    }
}

extension LogChange: VectorEncodable {
    var vector: VectorValue {
        var writer = JSONWriter()
        write(to: &writer)
        return .encoded(writer.bytes)
    }
}
