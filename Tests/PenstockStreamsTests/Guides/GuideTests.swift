import Foundation
import PenstockStreams
import PenstockTestKit
import Testing

@Suite struct GuideTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// What is between the marks of a guide, without the indentation of the first line.
    private func marked(_ guide: String, in text: String) -> [String] {
        text.components(separatedBy: "// guide \(guide)\n").dropFirst().map { rest in
            let lines = rest.components(separatedBy: "\n    // end")[0].components(separatedBy: "\n")
            let indentation = lines.first?.prefix { $0 == " " }.count ?? 0
            return lines.map { String($0.dropFirst(indentation)) }.joined(separator: "\n")
        }
    }

    @Test(arguments: ["FlatMap", "Buffer", "PassthroughSubject", "Delay", "ReplaySubject", "ShareReplay"])
    func everyBlockOfCodeIsCompiled(guide: String) throws {
        let page = try text("Sources/PenstockStreams/PenstockStreams.docc/\(guide).md")
        let shown = page.components(separatedBy: "\n```swift\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```")[0]
        }
        let compiled = marked(guide, in: try text("Tests/PenstockStreamsTests/Guides/GuideSnippets.swift"))
        #expect(!shown.isEmpty)
        #expect(Array(shown) == compiled)
    }

    @Test func everyGuideIsListed() throws {
        let folder = Self.root.appending(path: "Sources/PenstockStreams/PenstockStreams.docc")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0 != "PenstockStreams.md" }.map { "<doc:\($0.dropLast(3))>" }
        let listed = try text("Sources/PenstockStreams/PenstockStreams.docc/PenstockStreams.md")
            .components(separatedBy: "\n").filter { $0.hasPrefix("- ") }.map { String($0.dropFirst(2)) }
        #expect(names.sorted() == listed.sorted())
    }

    @Test func theExamplesDoWhatTheySay() async throws {
        let guides = Guides()
        #expect(await guides.titles(of: AtOnce([1, 2, 3])).sorted() == ["page 1", "page 2", "page 3"])
        let lost = Tally()
        #expect(await guides.latest(of: AtOnce(Array(1...90)), lost: lost) == Array(1...90))
        #expect(lost.count == 0)
        #expect(!guides.ring(AsyncPassthroughSubject()))
        var temperatures = guides.thermometer().makeAsyncIterator()
        #expect(await temperatures.next() == 21.5)
        let lines = AsyncReplaySubject<String, Never>(remembering: 2)
        try await guides.record(["a", "b", "c"], by: lines)
        var remembered = lines.makeAsyncIterator()
        #expect(await remembered.next() == "b")
        let (highest, final) = await guides.highestAndLast(of: AtOnce([3, 9, 4]))
        #expect(highest == 9)
        #expect(final == 4)
    }
}
