import Dispatch
import Foundation
import FuzzTargets

/// Runs one target of `FuzzTargets`.
///
/// Use `scripts/fuzz.sh`, which builds this program with libFuzzer. Any other build only repeats inputs.
///
///     scrollback-fuzz --list
///     scrollback-fuzz TARGET FILE…                (repeats files)
///     scrollback-fuzz --cost TARGET FILE…         (checks that the cost of repeated parts of files is linear)
///     SCROLLBACK_FUZZ_TARGET=TARGET scrollback-fuzz [options of libFuzzer]
@main
struct Fuzzer {
    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "--list" {
            for target in FuzzTarget.all { print("\(target.name)\t\(target.maximumBytes)\t\(target.summary)") }
            return
        }
        #if FUZZING
            if let name = ProcessInfo.processInfo.environment["SCROLLBACK_FUZZ_TARGET"] {
                LibFuzzer.run(target(name))
            }
        #endif
        let measuresCost = arguments.first == "--cost"
        if measuresCost { arguments.removeFirst() }
        guard let name = arguments.first, arguments.count > 1 else {
            print("Usage: scrollback-fuzz [--cost] TARGET FILE…, or scrollback-fuzz --list")
            exit(2)
        }
        let target = target(name)
        var isLinear = true
        for file in arguments.dropFirst() {
            guard let data = FileManager.default.contents(atPath: file) else {
                print("Can't read \(file).")
                exit(2)
            }
            if measuresCost {
                isLinear = Cost(target).check(Array(data), file) && isLinear
            } else {
                target.runOrTrap(Array(data))
            }
        }
        exit(isLinear ? 0 : 1)
    }

    private static func target(_ name: String) -> FuzzTarget {
        guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
            print("There is no target \(name). scrollback-fuzz --list shows all targets.")
            exit(2)
        }
        return target
    }
}

extension FuzzTarget {
    /// Decodes an input on this thread, and traps if a property of the decoder does not hold.
    func runOrTrap(_ bytes: [UInt8]) {
        do {
            switch body {
            case .immediate(let body): try body(bytes)
            case .asynchronous(let body):
                let box = FailureBox()
                let done = DispatchSemaphore(value: 0)
                Task {
                    do { try await body(bytes) } catch { box.failure = "\(error)" }
                    done.signal()
                }
                done.wait()
                if let failure = box.failure { fatalError(failure) }
            }
        } catch {
            fatalError("\(error)")
        }
    }
}

/// The failure of an asynchronous target.
///
/// The semaphore orders the accesses.
private final class FailureBox: @unchecked Sendable {
    var failure: String?
}
