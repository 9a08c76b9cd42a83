import Foundation
import ScrollbackModel

/// The credentials of a push service, members of a JSON object.
struct PushCredentials {
    private let members: [String: Any]
    private let service: PushService

    init(_ json: RawJSON, for service: PushService) throws(ChatError) {
        self.service = service
        let object = try? JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any]
        guard let object else { throw .invalidParameter("push.services.\(service.rawValue)", "must be a JSON object") }
        members = object
    }

    private func parameter(_ name: String) -> String { "push.services.\(service.rawValue).\(name)" }

    func text(_ name: String) throws(ChatError) -> String {
        guard let text = try optionalText(name) else { throw .invalidParameter(parameter(name), "is missing") }
        return text
    }

    func optionalText(_ name: String) throws(ChatError) -> String? {
        guard let value = members[name], !(value is NSNull) else { return nil }
        guard let text = value as? String, !text.isEmpty else {
            throw .invalidParameter(parameter(name), "must be a string that is not empty")
        }
        return text
    }

    func texts(_ name: String) throws(ChatError) -> [String] {
        guard let value = members[name], !(value is NSNull) else { return [] }
        guard let texts = value as? [String], texts.allSatisfy({ !$0.isEmpty }) else {
            throw .invalidParameter(parameter(name), "must be a list of strings")
        }
        return texts
    }

    func choice<Value: RawRepresentable & CaseIterable>(
        _ name: String, or standard: Value
    ) throws(ChatError) -> Value where Value.RawValue == String {
        guard let text = try optionalText(name) else { return standard }
        guard let value = Value(rawValue: text) else {
            let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParameter(parameter(name), "must be one of \(names)")
        }
        return value
    }

    /// Decodes a member that is an object.
    func decoded<Value: Decodable>(_ name: String, _ what: String) throws(ChatError) -> Value {
        guard let value = members[name], let object = value as? [String: Any],
            let data = try? JSONSerialization.data(withJSONObject: object),
            let decoded = try? JSONDecoder().decode(Value.self, from: data)
        else { throw .invalidParameter(parameter(name), what) }
        return decoded
    }

    func seconds(_ name: String, in range: ClosedRange<Double>, or standard: Double) throws(ChatError) -> Double {
        guard let value = members[name], !(value is NSNull) else { return standard }
        guard let number = (value as? NSNumber)?.doubleValue, range.contains(number) else {
            throw .invalidParameter(parameter(name), "must be in \(range) seconds")
        }
        return number
    }

    /// The service's base URL, without a trailing slash.
    ///
    /// The default is `standard`.
    func endpoint(or standard: String) throws(ChatError) -> String {
        guard let text = try optionalText("endpoint") else { return standard }
        guard let url = URL(string: text), url.scheme == "https", url.host()?.isEmpty == false else {
            throw .invalidParameter(parameter("endpoint"), "must be an https URL")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// The full URL of the service's token endpoint.
    ///
    /// The default is `standard`.
    func tokenEndpoint(or standard: String) throws(ChatError) -> String {
        guard let text = try optionalText("tokenEndpoint") else { return standard }
        guard let url = URL(string: text), url.scheme == "https", url.host()?.isEmpty == false else {
            throw .invalidParameter(parameter("tokenEndpoint"), "must be an https URL")
        }
        return text
    }

    /// Returns a positive integer, given as a number or a string.
    func number(_ name: String) throws(ChatError) -> Int {
        guard let value = members[name], !(value is NSNull) else {
            throw .invalidParameter(parameter(name), "is missing")
        }
        let number = (value as? Int) ?? (value as? String).flatMap { Int($0) }
        guard let number, number > 0 else {
            throw .invalidParameter(parameter(name), "must be an integer above 0")
        }
        return number
    }

    func flag(_ name: String) throws(ChatError) -> Bool {
        guard let value = members[name], !(value is NSNull) else { return false }
        guard let flag = value as? Bool else { throw .invalidParameter(parameter(name), "must be true or false") }
        return flag
    }

    /// Returns a member that is an object whose values are choices.
    func choices<Value: RawRepresentable & CaseIterable>(
        _ name: String
    ) throws(ChatError) -> [String: Value] where Value.RawValue == String {
        guard let value = members[name], !(value is NSNull) else { return [:] }
        guard let texts = value as? [String: String] else {
            throw .invalidParameter(parameter(name), "must be an object of strings")
        }
        let choices = texts.compactMapValues { Value(rawValue: $0) }
        guard choices.count == texts.count else {
            let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParameter(parameter(name), "must only have values that are one of \(names)")
        }
        return choices
    }

    func invalid(_ name: String, _ reason: String) -> ChatError { .invalidParameter(parameter(name), reason) }
}
