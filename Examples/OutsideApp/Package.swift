// swift-tools-version: 6.2
import PackageDescription

// An app as a stranger would write it: it takes the products `Scrollback` and `ScrollbackUI` and nothing else. CI builds it, so that no server
// library can slip into what apps need.
let package = Package(
    name: "OutsideApp",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "scrollback", path: "../..")],
    targets: [
        .executableTarget(
            name: "OutsideApp",
            dependencies: [
                .product(name: "Scrollback", package: "scrollback"),
                .product(name: "ScrollbackUI", package: "scrollback"),
            ])
    ]
)
