import Foundation
import ScrollbackEngine
import ScrollbackModel
import SQLiteSupport

/// A value that binds one or more parameters of a statement.
protocol Bindable {
    func bind(to parameters: inout Parameters)
}

extension Parameters {
    mutating func add(_ value: some Bindable) {
        value.bind(to: &self)
    }

    // The compiler specializes these functions, but not one with a parameter pack.

    mutating func add(_ first: some Bindable, _ second: some Bindable) {
        first.bind(to: &self)
        second.bind(to: &self)
    }

    mutating func add(_ first: some Bindable, _ second: some Bindable, _ third: some Bindable) {
        add(first, second)
        third.bind(to: &self)
    }

    mutating func add(
        _ first: some Bindable, _ second: some Bindable, _ third: some Bindable, _ fourth: some Bindable
    ) {
        add(first, second)
        add(third, fourth)
    }
}

extension Optional: Bindable where Wrapped: Bindable {
    func bind(to parameters: inout Parameters) {
        if let self { self.bind(to: &parameters) } else { parameters.add(nil as Int64?) }
    }
}

extension Int64: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension Bool: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension String: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(self) }
}

extension Date: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(self as Date?) }
}

extension UUID: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(self as UUID?) }
}

extension Timetoken: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(bits: rawValue) }
}

extension Identifier: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(text) }
}

extension UserID: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(text) }
}

extension MessageID: Bindable {
    func bind(to parameters: inout Parameters) { parameters.add(uuid as UUID?) }
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
