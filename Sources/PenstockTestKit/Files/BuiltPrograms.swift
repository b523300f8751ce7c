import Foundation

/// The programs of this package, as the build has made them.
package enum BuiltPrograms {
    /// Where they are: beside the tests.
    package static let folder: String = {
        let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath ?? program
        return (bundle as NSString).deletingLastPathComponent
    }()

    package static func path(_ name: String) -> String { "\(folder)/\(name)" }
}
