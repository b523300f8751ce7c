import Foundation
import Penstock
import Synchronization
import Testing

extension ReadmeTests {
    /// The program with a stream in it: run twice, it goes on where it was.
    @Test func theStreamProgramGoesOnWhereItWas() async throws {
        func removeFiles() {
            for name in ["gallery.db", "gallery.db-wal", "gallery.db-shm", "gallery.db-penstock"] {
                try? FileManager.default.removeItem(atPath: name)
            }
        }
        removeFiles()
        defer { removeFiles() }
        printed.withLock { $0 = [] }
        try await Gallery.main()
        #expect(printed.withLock { $0 } == (1...3).map { "thumbnail of photo \($0)" })

        // What waits when it starts comes before what the camera gives.
        let other = try await PenstockStore.open(path: "gallery.db")
        try await other.queue("photos", of: Int.self).enqueue(4)
        try await other.close()
        printed.withLock { $0 = [] }
        try await Gallery.main()
        #expect(printed.withLock { $0 } == (4...7).map { "thumbnail of photo \($0)" })
    }
}
