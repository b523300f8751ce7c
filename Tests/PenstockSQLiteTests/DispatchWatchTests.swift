#if !os(Linux) || DEBUG
    import Dispatch
    import PenstockCore
    import PenstockTestKit
    import Testing

    @testable import PenstockProcesses

    /// What wakes the watcher where there is no inotify, with a bell that is rung by hand.
    @Suite(.timeLimit(.minutes(5))) struct DispatchWatchTests {
        private let folder = TemporaryFolder()

        /// Looks, and sees nothing.
        private struct Lookout: ChangePolling {
            let looked: AsyncStream<Void>.Continuation

            func look(forTheDead: Bool) throws -> ChangesSeen {
                looked.yield()
                return ChangesSeen()
            }

            func close() { looked.finish() }
        }

        @Test func itLooksByATimerAndHearsTheBellUntilItEnds() async throws {
            let side = try SharedFolder(besideDatabaseAt: folder.file("queue.db"))
            let (doorbell, other) = (try Doorbell(side), try Doorbell(side))
            doorbell.board.listen()
            let wakeups = doorbell.wakeups
            let (looks, looked) = AsyncStream.makeStream(of: Void.self)
            let (isSure, ended) = (Flag(), Latch())
            let queue = DispatchQueue(label: "watch of a test")
            let bell = DispatchSource.makeUserDataAddSource(queue: queue)
            let stop = DispatchWatch.begin(
                ChangeWatcher(
                    doorbell: doorbell, poller: Lookout(looked: looked), isSure: isSure, heard: doorbell.board.words,
                    hearsWrites: false),
                bell: bell, on: queue, ended: ended)
            var look = looks.makeAsyncIterator()
            // The first one is for certainty, and the others are made as long as somebody waits.
            #expect(await look.next() != nil)
            let token = wakeups.token(for: .jobs)
            async let waiting: Void = wakeups.waitForWork(in: .jobs, after: token)
            #expect(await look.next() != nil)
            #expect(await look.next() != nil)
            other.ring([(RingBucket.of(.jobs), Ring(messages: 1))])
            bell.add(data: 1)
            try await waiting
            #expect(isSure.isRaised)
            stop()
            await ended.waitThoughCancelled()
            #expect(!isSure.isRaised)
            while await look.next() != nil {}
        }
    }
#endif
