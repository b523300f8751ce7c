// swift-tools-version: 6.2
import PackageDescription

// Every target is held to the same rules: Swift 6 concurrency, `any` spelled out,
// imports private unless said otherwise, and no warning left standing.
var strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// A warning ends the build where this package is worked on, by tools/swift, and nowhere else: programs that depend on it are built with other
// compilers, which have other warnings, and Xcode tells the compiler to suppress those of dependencies, which it refuses beside this.
if Context.environment["PENSTOCK_STRICT"] != nil { strict.append(.treatAllWarnings(as: .error)) }

// What each face of the server stands on.
let face: [Target.Dependency] = [
    "Penstock", "PenstockCore", "PenstockFormats", "PenstockHTTP",
    .product(name: "HTTPTypes", package: "swift-http-types"),
    .product(name: "Hummingbird", package: "hummingbird"),
    .product(name: "NIOCore", package: "swift-nio"),
]

let package = Package(
    name: "penstock",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Penstock", targets: ["Penstock"]),
        .library(name: "PenstockCore", targets: ["PenstockCore"]),
        .library(name: "PenstockClient", targets: ["PenstockClient"]),
        .library(name: "PenstockCodecs", targets: ["PenstockCodecs"]),
        .library(name: "PenstockCombine", targets: ["PenstockCombine"]),
        .library(name: "PenstockMetrics", targets: ["PenstockMetrics"]),
        .library(name: "PenstockPostgres", targets: ["PenstockPostgres"]),
        .library(name: "PenstockPublishers", targets: ["PenstockPublishers"]),
        .library(name: "PenstockStreams", targets: ["PenstockStreams"]),
        .library(name: "PenstockTracing", targets: ["PenstockTracing"]),
        .library(name: "PenstockTestKit", targets: ["PenstockTestKit"]),
        .library(name: "PenstockConformance", targets: ["PenstockConformance"]),
        .executable(name: "penstock", targets: ["PenstockMain"]),
        .executable(name: "penstock-remote", targets: ["PenstockRemoteMain"]),
        .executable(name: "penstock-postgres", targets: ["PenstockPostgresMain"]),
        .executable(name: "penstock-server", targets: ["PenstockServerMain"]),
        .executable(name: "penstock-postgres-server", targets: ["PenstockPostgresServerMain"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        // The server alone is made of these; a program that depends on Penstock never gets them.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        // PenstockClient alone is made of it.
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        // The parts of requests and responses as channels have them.
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        // Makes the documentation (tools/docs). No target depends on it, so programs that depend on this package never get it.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // The levels, top to bottom. An arrow only goes down; ARCHITECTURE.md draws them.
        // The entry is not called "penstock": its folder would be one with Penstock's on a disk that ignores case.
        .executableTarget(name: "PenstockMain", dependencies: ["PenstockCLI"], swiftSettings: strict),
        .executableTarget(
            name: "PenstockServerMain", dependencies: ["PenstockCLI", "PenstockServer"], swiftSettings: strict),
        // The same server, for a store in a PostgreSQL database as well.
        .executableTarget(
            name: "PenstockPostgresServerMain", dependencies: ["PenstockCLI", "PenstockPostgres", "PenstockServer"],
            swiftSettings: strict),
        // The same commands as penstock, for a store at a server.
        .executableTarget(
            name: "PenstockRemoteMain", dependencies: ["PenstockCLI", "PenstockClient"], swiftSettings: strict),
        // The same commands as penstock, for a store in a PostgreSQL database.
        .executableTarget(
            name: "PenstockPostgresMain", dependencies: ["PenstockCLI", "PenstockPostgres"], swiftSettings: strict),
        // The server: the faces below on one store, and the addresses where it listens.
        .target(
            name: "PenstockServer",
            dependencies: [
                "Penstock", "PenstockAPI", "PenstockCLI", "PenstockCore", "PenstockDashboard", "PenstockFormats",
                "PenstockHTTP",
                "PenstockMetrics", "PenstockSQS", "PenstockTracing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        // The queues for programs of any language: JSON over HTTP, under /v1.
        .target(
            name: "PenstockAPI",
            dependencies: face + [
                "CPenstockAPI", "PenstockWire",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            exclude: ["Embedded", "OpenAPI/openapi.json"],
            swiftSettings: strict
        ),
        // Its document, as a part of the program.
        .target(name: "CPenstockAPI", path: "Sources/PenstockAPI/Embedded"),
        // The queues for people: pages that update themselves.
        .target(
            name: "PenstockDashboard",
            dependencies: face + [
                "CPenstockDashboard",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            exclude: ["Embedded", "Resources"],
            swiftSettings: strict
        ),
        // Its templates, style sheet and script, as a part of the program.
        .target(name: "CPenstockDashboard", path: "Sources/PenstockDashboard/Embedded"),
        // The queues for clients of Amazon SQS.
        .target(
            name: "PenstockSQS",
            dependencies: face + [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        // Spans for a collector of OpenTelemetry.
        .target(
            name: "PenstockTracing",
            dependencies: [
                "PenstockCore", "PenstockFormats", "PenstockProcesses",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        // The numbers of a store, and of a process, for Prometheus.
        .target(
            name: "PenstockMetrics",
            dependencies: [
                "PenstockCore", "PenstockFormats", "PenstockProcesses",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        // What every face of the server stands on: how a client shows its token, what it may do, how requests are read, how a refusal looks.
        .target(
            name: "PenstockHTTP",
            dependencies: [
                "Penstock", "PenstockCore", "PenstockFormats", "PenstockProcesses",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PenstockCLI",
            dependencies: [
                "CPenstockSystem", "Penstock", "PenstockCore", "PenstockFormats", "PenstockMetrics",
                "PenstockProcesses", "PenstockSchedules", "PenstockTracing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                // The paths and descriptors that swift-subprocess speaks in; Apple platforms have them in the system.
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        // A store at a server, for programs on other machines.
        .target(
            name: "PenstockClient",
            dependencies: [
                "Penstock", "PenstockCore", "PenstockProcesses", "PenstockWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        // The calls of a store as a client sends them to a server.
        .target(name: "PenstockWire", dependencies: ["PenstockCore"], swiftSettings: strict),
        // What values look like outside: JSON, times and durations, sentences for people. The command and the server share it.
        .target(name: "PenstockFormats", dependencies: ["PenstockCore", "PenstockSchedules"], swiftSettings: strict),
        // What has the names of Combine's own operators, beside everything of PenstockPublishers.
        .target(name: "PenstockCombine", dependencies: ["PenstockPublishers"], swiftSettings: strict),
        .target(
            name: "PenstockPublishers",
            dependencies: [
                "Penstock", "PenstockCore", "PenstockProcesses", "PenstockStreams",
                .product(name: "DequeModule", package: "swift-collections"),
                // Apple platforms have Combine in the system, and never compile this one.
                .product(
                    name: "OpenCombineShim", package: "OpenCombine",
                    condition: .when(platforms: [.linux, .android, .windows])),
            ],
            swiftSettings: strict
        ),
        // Compression and encryption of payloads, for programs that ask for it: no other target depends on it.
        .target(
            name: "PenstockCodecs",
            dependencies: ["CPenstockZlib", "Penstock", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CPenstockZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "Penstock",
            dependencies: [
                "PenstockCore", "PenstockSQL", "PenstockSQLite", "PenstockStreams",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PenstockSQLite",
            dependencies: [
                "CPenstockSQLite", "PenstockCore", "PenstockMigrations", "PenstockProcesses", "PenstockSchedules",
                "PenstockSQL",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict
        ),
        // What of SQLite's Swift cannot call or be called by.
        .target(name: "CPenstockSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        // What every engine does in SQL: the operations of a store, and its readings.
        .target(
            name: "PenstockSQL",
            dependencies: ["PenstockCore", "PenstockProcesses", "PenstockSchedules"], swiftSettings: strict),
        // What lies between the processes on one file: locks, wake-ups, shared memory. No SQL.
        .target(
            name: "PenstockProcesses", dependencies: ["CPenstockSystem", "PenstockCore"], swiftSettings: strict),
        // Calls of the operating system that Swift cannot make.
        .target(name: "CPenstockSystem"),
        // How SQLite is set up in the process of the tests.
        .target(name: "CPenstockTests", linkerSettings: [.linkedLibrary("sqlite3")]),
        // Apart from the test kit, because it alone needs a test library.
        .target(
            name: "PenstockConformance",
            dependencies: ["PenstockCore", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .target(
            name: "PenstockTestKit",
            dependencies: [
                "PenstockCore", "PenstockSchedules", "PenstockStreams", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        // When a schedule fires: specs, calendar, time zones. It knows no queue.
        .target(name: "PenstockSchedules", dependencies: ["PenstockCore"], swiftSettings: strict),
        .target(name: "PenstockCore", swiftSettings: strict),
        .target(
            name: "PenstockStreams",
            dependencies: [.product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: strict
        ),
        .target(
            name: "PenstockMigrations",
            dependencies: ["CPenstockMigrations"],
            path: "Migrations",
            exclude: ["Baseline", "Embedded", "PostgreSQL", "SQL"],
            swiftSettings: strict
        ),
        .target(name: "CPenstockMigrations", path: "Migrations/Embedded"),
        // The same queue in a PostgreSQL database.
        .target(
            name: "PenstockPostgres",
            dependencies: [
                "CPenstockPostgres", "Penstock", "PenstockCore", "PenstockPostgresMigrations", "PenstockProcesses",
                "PenstockSQL",
            ],
            swiftSettings: strict
        ),
        .systemLibrary(
            name: "CPenstockPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .target(
            name: "PenstockPostgresMigrations",
            dependencies: ["CPenstockPostgresMigrations"],
            path: "Migrations/PostgreSQL",
            exclude: ["Embedded", "SQL"],
            swiftSettings: strict
        ),
        .target(name: "CPenstockPostgresMigrations", path: "Migrations/PostgreSQL/Embedded"),

        .testTarget(
            name: "PenstockPostgresTests",
            dependencies: [
                "CPenstockTests", "Penstock", "PenstockConformance", "PenstockCore", "PenstockMain", "PenstockPostgres",
                "PenstockPostgresMain", "PenstockPostgresMigrations", "PenstockPostgresServerMain", "PenstockSQL",
                "PenstockServerMain", "PenstockServerTests", "PenstockTestKit",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockCoreTests",
            dependencies: ["PenstockConformance", "PenstockCore", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockFormatsTests",
            dependencies: ["PenstockCore", "PenstockFormats", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockMetricsTests",
            dependencies: [
                "PenstockCore", "PenstockFormats", "PenstockMetrics", "PenstockProcesses", "PenstockTestKit",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockTracingTests",
            dependencies: [
                "PenstockCore", "PenstockMain", "PenstockProcesses", "PenstockTestKit", "PenstockTracing",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        // The server over real sockets: its door, and each of its faces.
        .testTarget(
            name: "PenstockServerTests",
            dependencies: [
                "Penstock", "PenstockAPI", "PenstockCore", "PenstockDashboard", "PenstockFormats", "PenstockHTTP",
                "PenstockMain", "PenstockMetrics", "PenstockProcesses", "PenstockSQS", "PenstockServer",
                "PenstockServerMain", "PenstockTestKit", "PenstockWire",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        // Stores at servers of the tests' own, over real sockets.
        .testTarget(
            name: "PenstockClientTests",
            dependencies: [
                "Penstock", "PenstockAPI", "PenstockClient", "PenstockConformance", "PenstockCore", "PenstockFormats",
                "PenstockHTTP", "PenstockMain", "PenstockRemoteMain", "PenstockSQL", "PenstockSQLite",
                "PenstockServer", "PenstockTestKit", "PenstockWire",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockSchedulesTests",
            dependencies: ["PenstockCore", "PenstockSchedules", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockStreamsTests",
            dependencies: ["PenstockStreams", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockSQLiteTests",
            dependencies: [
                "CPenstockTests", "PenstockConformance", "PenstockCore", "PenstockSQL", "PenstockSQLite",
                "PenstockMigrations",
                "PenstockProcesses",
                "PenstockTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockTests",
            dependencies: [
                "Penstock", "PenstockCore", "PenstockMigrations", "PenstockProcesses", "PenstockSQL", "PenstockSQLite",
                "PenstockStreams", "PenstockTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockCodecsTests",
            dependencies: ["CPenstockZlib", "Penstock", "PenstockCodecs", "PenstockCore", "PenstockTestKit"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockCombineTests",
            dependencies: [
                "PenstockCombine", "Penstock", "PenstockCore", "PenstockPublishers", "PenstockSQL", "PenstockSQLite",
                "PenstockStreams",
                "PenstockTestKit",
            ],
            swiftSettings: strict
        ),
        // What README.md and the guides show, compiled and run as their readers would.
        .testTarget(
            name: "PenstockDocsTests",
            dependencies: [
                "Penstock", "PenstockClient", "PenstockCodecs", "PenstockCombine", "PenstockConformance",
                "PenstockCore",
                "PenstockMain", "PenstockMetrics", "PenstockPostgres", "PenstockTestKit", "PenstockTracing",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "PenstockCLITests",
            dependencies: [
                "Penstock", "PenstockCLI", "PenstockCore", "PenstockFormats", "PenstockMain", "PenstockProcesses",
                "PenstockTestKit",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        // A stream in a process of its own, which a proof kills.
        .executableTarget(
            name: "PenstockPipeline", dependencies: ["Penstock", "PenstockPublishers"],
            path: "Tests/PenstockProcessTests/Pipeline", swiftSettings: strict),
        // A handler with steps in a process of its own, which a proof kills.
        .executableTarget(
            name: "PenstockStepper", dependencies: ["Penstock", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Tests/PenstockProcessTests/Stepper", swiftSettings: strict),
        // Real processes on real files: what the program must show as a whole.
        .testTarget(
            name: "PenstockProcessTests",
            dependencies: [
                "Penstock", "PenstockCore", "PenstockMain", "PenstockMigrations", "PenstockPipeline", "PenstockStepper",
                "PenstockTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux])),
            ],
            exclude: ["Pipeline", "Stepper"],
            swiftSettings: strict
        ),
    ]
)
