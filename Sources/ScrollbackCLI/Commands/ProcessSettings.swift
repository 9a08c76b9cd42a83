import Configuration
import Foundation
import ScrollbackModel
import SystemPackage

/// The settings of `serve`: from its options, else from the environment, else from the file of `--config`.
final class ProcessSettings {
    private let environment = EnvironmentVariablesProvider().prefixKeys(with: "scrollback")
    /// The file of `--config`, with the keys of its values.
    private let file: (path: String, provider: FileProvider<JSONSnapshot>, keys: [String])?
    /// The keys that were read.
    private var known: Set<String> = []

    /// - Parameter path: The path of a JSON file with settings, or `nil` for none.
    /// - Throws: `invalid-parameter` if the file is not a JSON object.
    init(file path: String?) async throws(ChatError) {
        guard let path else {
            file = nil
            return
        }
        do {
            let provider = try await FileProvider<JSONSnapshot>(filePath: .init(path))
            let json = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
            file = (path, provider, Self.keys(of: json as? [String: Any] ?? [:]))
        } catch {
            throw ChatError(
                .invalidParameter, "Can't read the settings file \(path) as JSON.", parameter: "config", cause: error)
        }
    }

    /// Returns a setting, or `nil` if it is not given.
    ///
    /// - Parameter option: The value of the option on the command line, which takes precedence.
    /// - Throws: `invalid-parameter` if the environment or the file has a value of another type.
    func string(_ key: String, _ option: String? = nil) throws(ChatError) -> String? {
        try value(key, .string, option, "a string") { if case .string(let text) = $0 { text } else { nil } }
    }

    func int(_ key: String, _ option: Int? = nil) throws(ChatError) -> Int? {
        try value(key, .int, option, "a whole number") { if case .int(let number) = $0 { number } else { nil } }
    }

    func double(_ key: String, _ option: Double? = nil) throws(ChatError) -> Double? {
        try value(key, .double, option, "a number") { if case .double(let number) = $0 { number } else { nil } }
    }

    func bool(_ key: String, _ option: Bool? = nil) throws(ChatError) -> Bool? {
        try value(key, .bool, option, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } }
    }

    func strings(_ key: String, _ option: [String]? = nil) throws(ChatError) -> [String]? {
        try value(key, .stringArray, option, "a list of strings") {
            if case .stringArray(let texts) = $0 { texts } else { nil }
        }
    }

    /// Refuses a file with a key that no setting has.
    ///
    /// Call it after all settings were read. A misspelt key would otherwise start a server without the setting, for
    /// example without TLS.
    func refuseUnknownKeys() throws(ChatError) {
        guard let file, let key = file.keys.sorted().first(where: { !known.contains($0) }) else { return }
        throw .invalidParameter(key, "in the settings file \(file.path) is not the key of a setting")
    }

    private func value<Value>(
        _ key: String, _ type: ConfigType, _ option: Value?, _ expected: String,
        _ unwrap: (ConfigContent) -> Value?
    ) throws(ChatError) -> Value? {
        known.insert(key)
        if let option { return option }
        let path = AbsoluteConfigKey(ConfigKey(key))
        do {
            if let value = try environment.value(forKey: path, type: type).value { return unwrap(value.content) }
        } catch {
            // Every variable is a string, so this lookup only names the variable.
            let variable = try? environment.value(forKey: path, type: .string).encodedKey
            throw .invalidParameter(variable ?? key, "must be \(expected)")
        }
        do {
            return try file?.provider.value(forKey: path, type: type).value.flatMap { unwrap($0.content) }
        } catch {
            throw .invalidParameter(key, "in the settings file \(file?.path ?? "") must be \(expected)")
        }
    }

    /// The keys of an object's values, with dots between the names of nested objects.
    private static func keys(of object: [String: Any], below path: String = "") -> [String] {
        object.flatMap { name, value in
            (value as? [String: Any]).map { keys(of: $0, below: "\(path)\(name).") } ?? [path + name]
        }
    }
}
