// swift-tools-version: 6.2
import PackageDescription

// A command-line app with the SDK: two users in a group that one of them makes.
let package = Package(
    name: "GroupChat",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "scrollback", path: "../..")],
    targets: [
        .executableTarget(name: "GroupChat", dependencies: [.product(name: "Scrollback", package: "scrollback")])
    ]
)
