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
        #expect(
            printed.withLock { $0 } == (1...5).map { "sack \($0) is flour" } + ["5 ground, 5 turned away"])
    }
}
