import Foundation
import Synchronization
import Testing

extension ReadmeTests {
    @Test func thePipelinePrintsWhatIsShown() async throws {
        func removeFiles() {
            for name in ["mill.db", "mill.db-wal", "mill.db-shm", "mill.db-penstock"] {
                try? FileManager.default.removeItem(atPath: name)
            }
        }
        removeFiles()
        defer { removeFiles() }
        printed.withLock { $0 = [] }
        try await Mill.main()
        let shown = try #require(blocks("text", in: try text("README.md")).first { $0.hasPrefix("sack") })
        #expect(printed.withLock { $0 } == shown.components(separatedBy: "\n"))
    }
}
