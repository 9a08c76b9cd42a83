// swift-tools-version: 6.2
import PackageDescription

// Documentation/architecture.md explains the targets. A separate target exists only where a dependency or a rule
// requires one. scripts/check-imports.py checks that each target imports only what it declares here.

// Set by scripts/fuzz.sh: the path of libFuzzer. The project's modules are then instrumented for it and optimized.
let fuzzer = Context.environment["SCROLLBACK_FUZZER"]
let instrumentation: [SwiftSetting] =
    fuzzer.map { _ in
        [.unsafeFlags(["-O", "-sanitize=address", "-Xfrontend", "-sanitize=fuzzer"]), .define("FUZZING")]
    } ?? []

let strict: [SwiftSetting] =
    instrumentation + [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
    ]

// On Apple platforms, ImageIO scales pictures.
let gd: Target.Dependency = .target(name: "CGD", condition: .when(platforms: [.linux]))

let package = Package(
    name: "scrollback",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Scrollback", targets: ["Scrollback"]),
        .library(name: "ScrollbackUI", targets: ["ScrollbackUI"]),
        .library(name: "ScrollbackTesting", targets: ["ScrollbackTesting"]),
        .executable(name: "scrollback", targets: ["ScrollbackCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        .target(name: "ScrollbackModel", swiftSettings: strict),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "ScrollbackPictures", dependencies: ["CZlib"], swiftSettings: strict),
        .target(name: "ScrollbackWire", dependencies: ["ScrollbackModel"], swiftSettings: strict),
        .target(name: "ScrollbackSync", dependencies: ["ScrollbackModel"], swiftSettings: strict),
        .target(
            name: "SQLiteSupport",
            dependencies: [
                "ScrollbackModel", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(name: "TextAnalysis", dependencies: ["ScrollbackModel"], swiftSettings: strict),
        .target(
            name: "ScrollbackSearch",
            dependencies: ["ScrollbackModel", "TextAnalysis", .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: strict),
        .systemLibrary(name: "CGD", providers: [.apt(["libgd-dev"])]),
        .target(name: "ScrollbackPictureScaling", dependencies: ["ScrollbackPictures", gd], swiftSettings: strict),
        .target(
            name: "Scrollback",
            dependencies: [
                "ScrollbackModel", "ScrollbackPictureScaling", "ScrollbackPictures", "ScrollbackSearch",
                "ScrollbackSync", "ScrollbackWire", "TextAnalysis",
                "SQLiteSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .target(name: "ScrollbackUI", dependencies: ["Scrollback"], swiftSettings: strict),
        .target(
            name: "ScrollbackEngine",
            dependencies: [
                "ScrollbackModel", "ScrollbackPictures", "ScrollbackWire", "TextAnalysis",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ScrollbackSQLite",
            dependencies: [
                "CSQLiteOptions", "ScrollbackEngine", "ScrollbackModel", "ScrollbackSearch", "TextAnalysis",
                "SQLiteSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "ScrollbackPostgres",
            dependencies: ["CPostgreSQL", "ScrollbackEngine", "ScrollbackModel"],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
        .target(
            name: "ScrollbackNATS",
            dependencies: ["CNATS", "ScrollbackEngine", "ScrollbackModel"],
            swiftSettings: strict
        ),
        .target(
            name: "ScrollbackPush",
            dependencies: [
                "ScrollbackEngine", "ScrollbackModel", "ScrollbackWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CExpat", providers: [.apt(["libexpat1-dev"])]),
        .target(name: "CEmbeddedFiles"),
        .target(name: "CSQLiteOptions"),
        .target(
            name: "ScrollbackServer",
            dependencies: [
                "CEmbeddedFiles", "CExpat", "CZlib", "ScrollbackEngine", "ScrollbackModel", "ScrollbackNATS",
                "ScrollbackPostgres", "ScrollbackPush", "ScrollbackSQLite", "ScrollbackWire", "SQLiteSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
            ],
            exclude: ["openapi.json"],
            swiftSettings: strict
        ),
        .target(
            name: "ScrollbackTesting",
            dependencies: ["Scrollback", "ScrollbackEngine", "ScrollbackModel", "ScrollbackWire"],
            swiftSettings: strict
        ),
        .target(
            name: "StoreConformance",
            dependencies: ["ScrollbackEngine", "ScrollbackModel"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "ScrollbackCLI",
            dependencies: [
                "Scrollback", "ScrollbackModel", "ScrollbackServer", "ScrollbackSQLite", "ScrollbackWire",
                "SQLiteSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        // Not a separate package, because it measures `package` declarations, which are visible only within this
        // package.
        .executableTarget(
            name: "scrollback-bench",
            dependencies: [
                "Scrollback", "ScrollbackEngine", "ScrollbackModel", "ScrollbackSearch", "ScrollbackServer",
                "ScrollbackSQLite", "ScrollbackSync", "ScrollbackWire", "TextAnalysis", "SQLiteSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Benchmarks/Sources",
            swiftSettings: strict
        ),
        // A test trait. Not part of any product.
        .target(name: "ContractRows", path: "Tests/ContractRows", swiftSettings: strict),
        // Waiting, seeds, temporary folders, databases, log records and operations of the engine for tests. Not part of
        // any product.
        .target(
            name: "TestSupport",
            dependencies: [
                "ScrollbackEngine", "ScrollbackModel", "ScrollbackPostgres", "ScrollbackWire",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(
            name: "ScrollbackModelTests", dependencies: ["ContractRows", "ScrollbackModel"], swiftSettings: strict),
        .testTarget(
            name: "ScrollbackWireTests", dependencies: ["ContractRows", "ScrollbackModel", "ScrollbackWire"],
            exclude: ["Golden"], swiftSettings: strict),
        .testTarget(
            name: "ScrollbackSyncTests",
            dependencies: ["ContractRows", "ScrollbackModel", "ScrollbackSync", "ScrollbackWire", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackEngineTests",
            dependencies: [
                "ContractRows", "PictureFixtures", "ScrollbackEngine", "ScrollbackModel", "ScrollbackPostgres",
                "ScrollbackSQLite", "ScrollbackWire", "TextAnalysis", "StoreConformance", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackSQLiteTests",
            dependencies: [
                "ContractRows", "ScrollbackEngine", "ScrollbackModel", "ScrollbackSQLite", "ScrollbackSearch",
                "ScrollbackWire", "TextAnalysis", "StoreConformance", "SQLiteSupport", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackPostgresTests",
            dependencies: [
                "ScrollbackEngine", "ScrollbackModel", "ScrollbackPostgres", "StoreConformance", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackPushTests",
            dependencies: [
                "ContractRows", "Scrollback", "ScrollbackEngine", "ScrollbackModel", "ScrollbackPush",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        // An app that tests kill and restart. Not part of any product.
        .target(name: "OfflineWeek", dependencies: ["Scrollback"], path: "Tests/OfflineWeek", swiftSettings: strict),
        .executableTarget(
            name: "offline-app", dependencies: ["OfflineWeek", "Scrollback", "ScrollbackSync"],
            path: "Tests/OfflineApp",
            swiftSettings: strict),
        // The examples see only public declarations, as an app does. FirstChat is the example of README.md, and tests
        // run the others. OutsideApp has the settings of its own package.
        .executableTarget(
            name: "FirstChat", dependencies: ["Scrollback"], path: "Examples/FirstChat", packageAccess: false,
            swiftSettings: strict),
        .executableTarget(
            name: "GroupChat", dependencies: ["Scrollback"], path: "Examples/GroupChat/Sources/GroupChat",
            packageAccess: false, swiftSettings: strict),
        .executableTarget(
            name: "OutsideApp", dependencies: ["Scrollback", "ScrollbackUI"],
            path: "Examples/OutsideApp/Sources/OutsideApp", packageAccess: false),
        // The part of the SwiftUI starter without views. Its own package has the app.
        .target(
            name: "SwiftUIStarter", dependencies: ["Scrollback", "ScrollbackUI"],
            path: "Examples/SwiftUIStarter/Sources/SwiftUIStarter", sources: ["Words.swift"], packageAccess: false),
        // Tests with the real server program, real sockets and the real SDK.
        .testTarget(
            name: "ScrollbackServerTests",
            dependencies: [
                "ScrollbackEngine", "ScrollbackModel", "ScrollbackServer", "ScrollbackSQLite", "ScrollbackWire",
                "SQLiteSupport", "StoreConformance", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CZlib", "ContractRows", "OfflineWeek", "PictureFixtures", "Scrollback", "ScrollbackEngine",
                "ScrollbackModel", "ScrollbackPictureScaling", "ScrollbackPostgres", "ScrollbackSQLite",
                "ScrollbackServer", "ScrollbackWire", "SQLiteSupport", "GroupChat", "OutsideApp", "TestSupport",
                "offline-app",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            exclude: ["Wire/Transcripts"], swiftSettings: strict),
        .testTarget(
            name: "ScrollbackSearchTests",
            dependencies: [
                "ContractRows", "ScrollbackModel", "ScrollbackSearch", "TextAnalysis", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackTests",
            dependencies: [
                "ContractRows", "PictureFixtures", "Scrollback", "ScrollbackEngine", "ScrollbackModel",
                "ScrollbackPictures", "ScrollbackSearch", "ScrollbackSQLite", "ScrollbackSync", "ScrollbackTesting",
                "ScrollbackWire", "TextAnalysis", "SQLiteSupport", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackUITests",
            dependencies: ["ContractRows", "Scrollback", "ScrollbackTesting", "ScrollbackUI", "TestSupport"],
            swiftSettings: strict),
        // The decoders of untrusted bytes as functions, for scripts/fuzz.sh and for the tests that repeat its findings.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Scrollback", "ScrollbackEngine", "ScrollbackModel", "ScrollbackPictures", "ScrollbackPush",
                "ScrollbackServer", "ScrollbackSync", "ScrollbackWire", "TextAnalysis",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict),
        .executableTarget(
            name: "scrollback-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Fuzzer", swiftSettings: strict,
            linkerSettings: fuzzer.map {
                [.unsafeFlags(["-sanitize=address", "-Xlinker", $0]), .linkedLibrary("stdc++")]
            } ?? []),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Tests", swiftSettings: strict),
        // The files of Tests/Fixtures/Pictures and the expected values in pictures.json.
        .target(name: "PictureFixtures", path: "Tests/PictureFixtures", swiftSettings: strict),
        .testTarget(
            name: "ScrollbackPicturesTests", dependencies: ["PictureFixtures", "ScrollbackPictures"],
            swiftSettings: strict),
        .testTarget(
            name: "ScrollbackPictureScalingTests",
            dependencies: ["PictureFixtures", "ScrollbackPictureScaling", "ScrollbackPictures", gd],
            swiftSettings: strict),
        // Draws the picture in the documentation. Not part of any product.
        .executableTarget(
            name: "contact-sheet", dependencies: ["PictureFixtures", "ScrollbackPictureScaling", gd],
            path: "Tests/ContactSheet", swiftSettings: strict),
        // Every example of the documentation, verbatim (see scripts/check-snippets.sh). Imports only the three
        // products and sees only public declarations, as apps do.
        .testTarget(
            name: "SnippetTests", dependencies: ["Scrollback", "ScrollbackTesting", "ScrollbackUI"],
            packageAccess: false, swiftSettings: strict),
    ]
)
