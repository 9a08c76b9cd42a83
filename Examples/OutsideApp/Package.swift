// swift-tools-version: 6.2
import PackageDescription

// An app that depends only on the products `Scrollback` and `ScrollbackUI`. CI builds it to check that these products
// don't depend on a server library.
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
