import Foundation
import ScrollbackEngine
import ScrollbackModel

/// A value that binds one or more parameters of a statement.
protocol Bindable {
    func bind(to parameters: inout Parameters)
}

/// A value that binds one parameter, so that `nil` can bind NULL.
protocol ScalarBindable: Bindable {
    static var type: PostgresType { get }
}

extension Parameters {
    mutating func add<each Value: Bindable>(_ values: repeat each Value) {
        for value in repeat each values { value.bind(to: &self) }
    }
}

extension Optional: Bindable where Wrapped: ScalarBindable {
    func bind(to parameters: inout Parameters) {
        if let self { self.bind(to: &parameters) } else { parameters.addNull(Wrapped.type) }
    }
}

extension Int64: ScalarBindable {
    static let type = PostgresType.integer
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension Bool: ScalarBindable {
    static let type = PostgresType.flag
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension String: ScalarBindable {
    static let type = PostgresType.text
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension Date: ScalarBindable {
    static let type = PostgresType.number
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension UUID: ScalarBindable {
    static let type = PostgresType.uuid
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension Timetoken: ScalarBindable {
    static let type = PostgresType.integer
    func bind(to parameters: inout Parameters) { parameters.add(bits: rawValue) }
}

extension Identifier: ScalarBindable {
    static let type = PostgresType.text
    func bind(to parameters: inout Parameters) { parameters.add(text) }
}

extension UserID: ScalarBindable {
    static let type = PostgresType.text
    func bind(to parameters: inout Parameters) { parameters.add(text) }
}

extension MessageID: ScalarBindable {
    static let type = PostgresType.uuid
    func bind(to parameters: inout Parameters) { parameters.add(uuid) }
}

extension ConversationID: Bindable {
    /// Binds the kind, target and part.
    func bind(to parameters: inout Parameters) {
        // An empty string stands for an absent part.
        parameters.add(kind.rawValue, target.text, part?.text ?? "")
    }
}

extension SeqRange: Bindable {
    /// Binds both ends.
    func bind(to parameters: inout Parameters) { parameters.add(lowerBound, upperBound) }
}
