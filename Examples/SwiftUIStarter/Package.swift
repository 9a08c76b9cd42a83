// swift-tools-version: 6.2
import PackageDescription

// A SwiftUI app with the models of `ScrollbackUI`. README.md explains how to run it.
let package = Package(
    name: "SwiftUIStarter",
    platforms: [.macOS(.v15), .iOS(.v18)],
    dependencies: [.package(name: "scrollback", path: "../..")],
    targets: [
        .executableTarget(
            name: "SwiftUIStarter",
            dependencies: [
                .product(name: "Scrollback", package: "scrollback"),
                .product(name: "ScrollbackUI", package: "scrollback"),
            ])
    ]
)
