import PenstockCombine
import PenstockTestKit
import Testing

/// What the guides of PenstockCombine show does what it says. A test of PenstockDocsTests holds the guides against it.
@Suite struct GuideTests {
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
