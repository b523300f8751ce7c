import Foundation

/// A folder of its own for one test, removed with the object.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID().uuidString)").path
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            fatalError("A test has no folder: \(error)")
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// A path within the folder.
    package func file(_ name: String) -> String { path + "/" + name }
}
