#if os(Linux)
    import CGD
    import Glibc

    /// Records whether libgd reported an error for the file that the current thread decodes.
    ///
    /// libgd has one error handler per process and calls it on the decoding thread. If an application sets its own
    /// handler after the first image, it replaces this one.
    enum GDErrorFlag {
        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            let status = pthread_key_create(&key, nil)
            precondition(status == 0, "No thread-local storage is left.")
            return key
        }()

        private static let method: Void = gdSetErrorMethod { _, format, arguments in
            // The type is not optional on every architecture.
            let list: CVaListPointer? = arguments
            guard let format, let list else { return }
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 400) { buffer -> String in
                guard let start = buffer.baseAddress, vsnprintf(start, 400, format, list) >= 0 else { return "" }
                return String(cString: start)
            }
            // Cameras write such files, and all pixels are present.
            let harmless = ["extraneous bytes", "JFIF revision", "Adobe color transform"]
            if !harmless.contains(where: text.contains) {
                pthread_setspecific(GDErrorFlag.key, UnsafeRawPointer(bitPattern: 1))
            }
        }

        static func clear() {
            method
            pthread_setspecific(key, nil)
        }

        static var isSet: Bool { pthread_getspecific(key) != nil }
    }
#endif
