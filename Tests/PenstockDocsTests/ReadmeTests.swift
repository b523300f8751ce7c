import Foundation
import Penstock
import Synchronization
import Testing

/// What the README's program printed. Its `print` is this one.
let printed = Mutex<[String]>([])

func print(_ items: Any...) {
    printed.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
}

@Suite(.serialized) struct ReadmeTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The blocks of `text` fenced as `language`.
    func blocks(_ language: String, in text: String) -> [String] {
        text.components(separatedBy: "\n```\(language)\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```")[0]
        }
    }

    /// The lines between the marks, without the indentation of the first.
    private func marked(in text: String) -> [String] {
        var found: [String] = []
        var lines: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            switch line.trimmingCharacters(in: .whitespaces) {
            case "// readme": lines = []
            case "// end":
                let indentation = lines?.first?.prefix { $0 == " " }.count ?? 0
                found.append((lines ?? []).map { $0.dropFirst(indentation) }.joined(separator: "\n"))
                lines = nil
            default: lines?.append(line)
            }
        }
        return found
    }

    @Test func everyBlockOfCodeIsCompiled() throws {
        let shown = blocks("swift", in: try text("README.md"))
        func source(_ name: String) throws -> String { try text("Tests/PenstockDocsTests/\(name).swift") }
        let compiled =
            [try source("ReadmeProgram")] + marked(in: try source("ReadmeSnippets"))
            + [try source("StreamProgram"), try source("PublisherProgram")] + marked(in: try source("ReadmeEvents"))
        #expect(shown.count == compiled.count)
        for (shown, compiled) in zip(shown, compiled) {
            let shown = shown.replacing("@main struct", with: "struct")
            #expect(shown.trimmingCharacters(in: .newlines) == compiled.trimmingCharacters(in: .newlines))
        }
    }

    @Test func theProgramPrintsWhatIsShown() async throws {
        // It opens a file in the working directory, as its reader's would. Other tests run meanwhile, so that stays.
        func removeFiles() {
            for name in ["shop.db", "shop.db-wal", "shop.db-shm", "shop.db-penstock"] {
                try? FileManager.default.removeItem(atPath: name)
            }
        }
        removeFiles()
        defer { removeFiles() }
        printed.withLock { $0 = [] }
        try await Shop.main()
        let shown = try #require(blocks("text", in: try text("README.md")).first)
        #expect(printed.withLock { $0 } == shown.components(separatedBy: "\n"))
    }

    @Test func aMessageJoinsTheApplicationsTransaction() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // There is no table of persons in the new file, so the whole transaction comes to nothing.
        await #expect(throws: (any Error).self) {
            try await Readme.ownDatabase(folder.appending(path: "app.db").path)
        }
        let store = try await PenstockStore.open(path: folder.appending(path: "app.db").path)
        #expect(try await store.list(MessageQuery()).isEmpty)
        let queue = try await Readme.typedQueue(store)
        #expect(try await queue.status().depths.scheduled == 1)
        try await store.close()
    }
}
