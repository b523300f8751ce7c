import Foundation
import PenstockCombine
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

    @Test(arguments: ["Buffer", "Queues", "Delay", "Replay"])
    func everyBlockOfCodeIsCompiled(guide: String) throws {
        let page = try text("Sources/PenstockCombine/PenstockCombine.docc/\(guide).md")
        let shown = page.components(separatedBy: "\n```swift\n").dropFirst().map { rest in
            rest.components(separatedBy: "\n```")[0]
        }
        let compiled = marked(guide, in: try text("Tests/PenstockCombineTests/Guides/GuideSnippets.swift"))
        #expect(!shown.isEmpty)
        #expect(Array(shown) == compiled)
    }

    @Test func everyGuideIsListed() throws {
        let folder = Self.root.appending(path: "Sources/PenstockCombine/PenstockCombine.docc")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0 != "PenstockCombine.md" }.map { "<doc:\($0.dropLast(3))>" }
        let listed = try text("Sources/PenstockCombine/PenstockCombine.docc/PenstockCombine.md")
            .components(separatedBy: "\n").filter { $0.hasPrefix("- ") }.map { String($0.dropFirst(2)) }
        #expect(names.sorted() == listed.sorted())
    }

    @Test func theExamplesDoWhatTheySay() async throws {
        let guides = Guides()
        var temperatures: [Double] = []
        let heard = guides.thermometer().sink { temperatures.append($0) }
        #expect(temperatures == [21.5])
        heard.cancel()
        let late = Probe<Int, Never>(demand: .max)
        guides.shared([1, 2, 3].publisher).subscribe(late)
        #expect(late.values == [1, 2, 3])

        let process = try await World(.memory).open()
        let lines = try await process.store.queue("lines", of: String.self)
        let lengths = Probe<Int, any Error>(demand: .max)
        await process.read(guides.lossless(["a", "bb", "ccc"].publisher, lines), lengths)
        #expect(lengths.values.sorted() == [1, 2, 3])
        let orders = try await process.store.queue("orders", of: Int.self)
        let receipts = try await orders.enqueue(contentsOf: [7, 8])
        let shipped = Probe<String, any Error>(demand: .max)
        await process.read(
            guides.shipments(orders) { order in
                Just("shipped \(order)").setFailureType(to: (any Error).self).eraseToAnyPublisher()
            }, shipped)
        #expect(shipped.values.sorted() == ["shipped 7", "shipped 8"])
        shipped.cancel()
        #expect(receipts.count == 2)
        await process.stillness.waitUntilIdle()
    }
}
