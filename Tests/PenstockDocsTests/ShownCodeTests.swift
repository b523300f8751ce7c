import Foundation
import Testing

/// All code that a document shows has been compiled: it stands between marks in a test file as well, letter for letter.
@Suite struct ShownCodeTests {
    private static func compiled() throws -> [String: [String]] {
        try Dictionary(uniqueKeysWithValues: Documents.tests.map { ($0, try Documents.shown(in: $0)) })
    }

    /// A program of a document has `@main`, of which a test target can have none.
    private static func blocks(in document: String) throws -> [String] {
        try Documents.blocks("swift", in: document).map { $0.replacing("@main struct", with: "struct") }
    }

    @Test(arguments: Documents.all)
    func everyBlockOfCodeIsCompiled(document: String) throws {
        let compiled = Set(try Self.compiled().values.joined())
        for block in try Self.blocks(in: document) {
            #expect(compiled.contains(block), "No test file has this between `// shown` and `// end`:\n\(block)")
        }
    }

    @Test func nothingIsMarkedThatNoDocumentShows() throws {
        let shown = Set(try Documents.all.flatMap(Self.blocks))
        for (file, blocks) in try Self.compiled() {
            for block in blocks { #expect(shown.contains(block), "\(file): no document shows this:\n\(block)") }
        }
    }

    @Test func thereIsSomethingToCheck() throws {
        #expect(Documents.all.count > 20)
        #expect(try Documents.all.flatMap(Self.blocks).count > 40)
    }

    /// Every article is in the Topics of its catalogue's landing page.
    @Test func everyArticleIsListed() throws {
        for article in Documents.all where article != "README.md" {
            let path = URL(filePath: "/" + article)
            let catalogue = path.deletingLastPathComponent().deletingPathExtension().lastPathComponent
            let name = path.deletingPathExtension().lastPathComponent
            if name == catalogue { continue }
            let landing = try Documents.text("Sources/\(catalogue)/\(catalogue).docc/\(catalogue).md")
            #expect(landing.contains("\n- <doc:\(name)>\n"), "\(article)")
        }
    }
}
