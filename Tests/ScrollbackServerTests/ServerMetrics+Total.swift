@testable import ScrollbackServer

extension ServerMetrics {
    /// Returns the value of a counter, by its name and labels as `/metrics` has them.
    func total(_ name: String) -> Int? {
        registry.text().split(separator: "\n").first { $0.hasPrefix(name + " ") }
            .flatMap { Int($0.dropFirst(name.count + 1)) }
    }
}
