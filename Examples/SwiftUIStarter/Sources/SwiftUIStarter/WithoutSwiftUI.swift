#if !canImport(SwiftUI)
    @main
    struct WithoutSwiftUI {
        static func main() {
            print("This app needs SwiftUI. Open its Package.swift in Xcode on a Mac.")
        }
    }
#endif
