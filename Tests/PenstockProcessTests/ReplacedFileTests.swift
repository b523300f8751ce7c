import Foundation
import Penstock
import PenstockTestKit
import Testing

extension Faults {
    /// A file that is removed or replaced under a store that follows it.
    @Suite struct ReplacedFileTests {
        /// Sooner than the next look that it would take anyway, which is seconds away.
        private static let soon = Duration.seconds(3)

        enum Loss: CaseIterable {
            case removed, moved, replaced
        }

        /// A task that follows a log sleeps until something happens. What it waits for cannot happen any more, and it is told.
        @Test(arguments: Loss.allCases) func aFollowerIsToldAtOnce(loss: Loss) async throws {
            let waits = try await measured(atMost: 5, until: { $0 < Self.soon }) { _ in try await waitForWord(of: loss)
            }
            #expect(try #require(waits.last) < Self.soon, "from the loss to the word of it: \(waits)")
        }

        /// - Returns: the time from the loss to the word of it.
        private func waitForWord(of loss: Loss) async throws -> Duration {
            var wait = Duration.zero
            try await Site.use { site in
                let store = try await PenstockStore.open(path: site.file)
                let queue = try await store.queue("q", of: Int.self)
                try await queue.enqueue(1)
                var log = queue.log(from: SequenceNumber(1), follow: true).makeAsyncIterator()
                #expect(try await log.next()?.record.sequence.rawValue == 1)
                let following = Task {
                    let reader = queue.log(follow: true)
                    for try await _ in reader {}
                }
                // It has read what there is, and the kernel watches for it.
                while store.storage.changes.waiterCount == 0 || store.storage.lookInterval < .seconds(1) {
                    await Task.yield()
                }
                let began = ContinuousClock.now
                switch loss {
                case .removed: #expect(unlink(site.file) == 0)
                case .moved: #expect(rename(site.file, site.file + ".old") == 0)
                case .replaced:
                    try Data().write(to: URL(filePath: site.file + ".new"))
                    #expect(rename(site.file + ".new", site.file) == 0)
                }
                let error = await #expect(throws: PenstockError.self) { try await following.value }
                wait = ContinuousClock.now - began
                #expect(error?.code == .fileReplaced)
                try? await store.close()
            }
            return wait
        }
    }
}
