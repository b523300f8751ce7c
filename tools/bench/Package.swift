// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that who uses Penstock never resolves what only its benchmark needs.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "penstock-bench",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "penstock", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "penstock-bench",
            dependencies: ["PenstockBench", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Sources/PenstockBenchMain",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "postgres-bench",
            dependencies: [
                "PenstockBench",
                .product(name: "Penstock", package: "penstock"),
                .product(name: "PenstockPostgres", package: "penstock"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/PostgresBenchMain",
            swiftSettings: strict
        ),
        .target(
            name: "PenstockBench",
            dependencies: [
                "Shared",
                .product(name: "Penstock", package: "penstock"),
                .product(name: "PenstockCore", package: "penstock"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            path: "Sources/PenstockBench",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "streams-bench",
            dependencies: [
                .product(name: "PenstockCombine", package: "penstock"),
                .product(name: "PenstockStreams", package: "penstock"),
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
            ],
            path: "Sources/StreamsBench",
            swiftSettings: strict
        ),
        // What processes that are measured together share: a clock, and counters in a mapped file.
        .target(name: "Shared"),
    ]
)
