import Foundation
import Penstock
import Synchronization
import Testing

/// What a document's program has printed. Other programs print meanwhile.
private final class Printed: Sendable {
    @TaskLocal static var current: Printed?
    let lines = Mutex<[String]>([])
}

/// What documents' programs print with.
func print(_ items: Any...) {
    Printed.current?.lines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
}

/// The documents' whole programs print what the documents say. One at a time: they open their files in the working
/// directory, as their readers' would.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProgramTests {
    /// Runs a program that keeps its things in the file called `name`.
    private func lines(_ name: String, _ program: () async throws -> Void) async throws -> [String] {
        func removeFiles() {
            for suffix in ["", "-wal", "-shm", "-penstock"] {
                try? FileManager.default.removeItem(atPath: name + suffix)
            }
        }
        removeFiles()
        defer { removeFiles() }
        let printed = Printed()
        try await Printed.$current.withValue(printed) { try await program() }
        return printed.lines.withLock { $0 }
    }

    /// The output in a document that begins with `beginning`.
    private func output(of document: String, _ beginning: String) throws -> [String] {
        let shown = try #require(try Documents.blocks("text", in: document).first { $0.hasPrefix(beginning) })
        return shown.components(separatedBy: "\n")
    }

    @Test func theShop() async throws {
        let lines = try await lines("shop.db") { try await Shop.main() }
        #expect(try lines == output(of: "README.md", "order 7"))
    }

    @Test func theMill() async throws {
        let lines = try await lines("mill.db") { try await Mill.main() }
        #expect(try lines == output(of: "README.md", "sack 1"))
    }

    @Test func thePostOffice() async throws {
        let lines = try await lines("post.db") { try await PostOffice.main() }
        #expect(try lines == output(of: "Sources/Penstock/Penstock.docc/GettingStarted.md", "a letter"))
    }

    @Test func theRegistration() async throws {
        let lines = try await lines("people.db") { try await Registration.main() }
        #expect(try lines == output(of: "Sources/Penstock/Penstock.docc/Transactions.md", "Ada"))
    }

    /// The program with a stream in it: run twice, it goes on where it was.
    @Test func theGalleryGoesOnWhereItWas() async throws {
        let lines = try await lines("gallery.db") {
            try await Gallery.main()
            // What waits when it starts comes before what the camera gives.
            let other = try await PenstockStore.open(path: "gallery.db")
            try await other.queue("photos", of: Int.self).enqueue(4)
            try await other.close()
            try await Gallery.main()
        }
        #expect(lines == (1...7).map { "thumbnail of photo \($0)" })
    }
}
