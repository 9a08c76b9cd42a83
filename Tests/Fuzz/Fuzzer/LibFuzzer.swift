#if FUZZING
    import Foundation
    import FuzzTargets

    /// libFuzzer, which `scripts/fuzz.sh` links.
    enum LibFuzzer {
        private typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

        @_silgen_name("LLVMFuzzerRunDriver")
        private static func runDriver(
            _ count: UnsafeMutablePointer<CInt>,
            _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
            _ callback: Callback
        ) -> CInt

        /// The target of this process, which the callback reads because C functions capture nothing.
        nonisolated(unsafe) private static var target: FuzzTarget?

        /// Searches inputs until libFuzzer's limits are reached.
        static func run(_ target: FuzzTarget) -> Never {
            self.target = target
            var count = CommandLine.argc
            var arguments = CommandLine.unsafeArgv
            exit(
                runDriver(&count, &arguments) { bytes, count in
                    LibFuzzer.target?.runOrTrap(Array(UnsafeBufferPointer(start: bytes, count: count)))
                    return 0
                })
        }
    }
#endif
