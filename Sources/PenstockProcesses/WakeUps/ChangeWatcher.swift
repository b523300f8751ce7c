import PenstockCore
import Synchronization

/// Passes on to this process's waiters what happens in others: one for each store, on one thread, however many wait.
///
/// It hears rings, and it looks: when the kernel says that a worker's file was closed, as its process may have died;
/// when it says that the write-ahead log was written to, or that the database may have lost its name; and otherwise after
/// a while.
///
/// The write-ahead log is written to before a commit can be seen. So a look that comes too early for it is followed by others, until
/// one sees a change, and by a few more.
package final class ChangeWatcher {
    /// Between two looks while something may be under way. Writers that do not ring are seen within this time.
    package static let pace = Duration.milliseconds(250)
    /// How long it goes without a look when the kernel says nothing.
    package static let rest = Duration.seconds(5)
    /// Between two times that it hears rings: each wakes a thread in every process that waits, for little.
    package static let hearingPauseMilliseconds: Int32 = 1
    /// From the kernel's word on the write-ahead log to the look. Most commits are there by then.
    private static let pause = Duration.milliseconds(30)
    /// After a worker's file was closed its lock goes, but not in the same moment.
    private static let suspicion = Duration.milliseconds(10)
    private static let suspiciousLooks = 3
    /// How many looks a write waits for its commit. One that takes longer is seen at the end of a rest.
    private static let expectantLooks = 40
    private static let looksAfterChange = 4
    /// A worker that is rung for lost work may have looked for such just before, and does not again so soon. So this rings
    /// until the work is gone, for two seconds.
    private static let looksAfterLoss = 8

    private let doorbell: Doorbell
    private var wakeups: Wakeups { doorbell.wakeups }
    private let poller: any ChangePolling
    private let isSure: Flag
    /// Whether the kernel says when the write-ahead log is written to. Otherwise it looks at its pace.
    private let hearsWrites: Bool
    /// What was announced at each bucket, as far as it was passed on.
    private var heard: [DoorbellBoard.Word]
    private var suspiciousLooksLeft = 0
    private var expectantLooksLeft = 0
    private var looksForLossLeft = 0
    private var hasSeenLoss = false
    private var doubtsFile = false
    private var looks = 0
    private var lastLook: ContinuousClock.Instant
    private var nextLook: ContinuousClock.Instant

    /// Begins to watch: what is rung for since `heard` was read is passed on.
    ///
    /// - Parameter isSure: is raised once it has looked without a failure.
    package init(
        doorbell: Doorbell, poller: any ChangePolling, isSure: Flag, heard: [DoorbellBoard.Word], hearsWrites: Bool
    ) {
        self.doorbell = doorbell
        self.poller = poller
        self.isSure = isSure
        self.heard = heard
        self.hearsWrites = hearsWrites
        lastLook = .now
        nextLook = lastLook
    }

    /// How long to sleep before the next look; zero or less when it is due.
    package var untilLook: Duration { nextLook - .now }

    /// A process has rung.
    package func hear() {
        for bucket in heard.indices { hear(at: bucket) }
        doorbell.leaveQuiet()
    }

    /// Where it hears without being woken: it has to ``attend()`` before long.
    package var isAttending: Bool { !doorbell.attended.isEmpty }

    /// Hears where it hears without being woken.
    package func attend() {
        for bucket in doorbell.attended { hear(at: bucket) }
        doorbell.leaveQuiet()
    }

    /// If it rang at `bucket`, wakes the tasks that wait for news there and, of those that wait for work, as many as there
    /// are messages that no other task was woken for.
    private func hear(at bucket: Int) {
        let (word, before) = (doorbell.board.word(at: bucket), heard[bucket])
        heard[bucket] = word
        if word.ringsForAll != before.ringsForAll {
            wakeups.notices.ring(at: bucket)
            wakeups.ringAll(at: bucket)
        } else if word.rings != before.rings, word.messages == 0 {
            wakeups.ringAll(at: bucket, for: .room)
        } else if word.rings != before.rings {
            wakeups.ring(at: bucket) { room in doorbell.take(room, at: bucket) }
        }
    }

    /// A worker's file was closed, and its process may be dead.
    package func suspect() {
        suspiciousLooksLeft = Self.suspiciousLooks
        nextLook = .now
    }

    /// The database may have been removed or replaced. Then nothing that is waited for will ever happen, and the tasks that
    /// wait are to be told.
    package func doubtFile() {
        doubtsFile = true
        nextLook = .now
    }

    /// The write-ahead log was written to, or begins to be watched only now.
    package func expectCommit() {
        expectantLooksLeft = Self.expectantLooks
        nextLook = min(nextLook, max(lastLook + Self.pace, .now + Self.pause))
    }

    /// Looks for what nobody rings for, if anybody waits for it.
    package func look() {
        looks += 1
        let isSuspicious = suspiciousLooksLeft > 0
        if isSuspicious { suspiciousLooksLeft -= 1 }
        if expectantLooksLeft > 0 { expectantLooksLeft -= 1 }
        if looksForLossLeft > 0 { looksForLossLeft -= 1 }
        var nextEnd: Duration?
        if wakeups.waiterCount > 0 || !isSure.isRaised || doubtsFile {
            doubtsFile = false
            do {
                let isRested = ContinuousClock.now - lastLook >= Self.pace * 2
                let asksForTheDead = isSuspicious || isRested || hasSeenLoss || looks.isMultiple(of: 2)
                let sight = try poller.look(forTheDead: asksForTheDead)
                isSure.raise()
                pass(on: sight)
                nextEnd = sight.nextEnd
                // Another commit may have been on its way, of which the kernel has said nothing.
                if sight.hasChanged { expectantLooksLeft = Self.looksAfterChange }
                if sight.hasLostWork, !hasSeenLoss { looksForLossLeft = Self.looksAfterLoss }
                if asksForTheDead { hasSeenLoss = sight.hasLostWork }
            } catch {
                // It cannot be seen now. Waiters look by themselves meanwhile, and the next look may do better.
                isSure.lower()
                wakeups.ring(nil)
                expectantLooksLeft = 1
            }
        }
        lastLook = .now
        let isExpectant = expectantLooksLeft > 0 || looksForLossLeft > 0 || !hearsWrites
        let wait = suspiciousLooksLeft > 0 ? Self.suspicion : isExpectant ? Self.pace : Self.rest
        nextLook = lastLook + min(wait, max(nextEnd ?? wait, Self.suspicion))
    }

    private func pass(on sight: ChangesSeen) {
        if sight.hasChanged {
            wakeups.ringForNews()
            for bucket in sight.buckets { wakeups.ringAll(at: bucket) }
        }
        if sight.hasLostWork { wakeups.ring(nil) }
    }

    /// Lets go of the file.
    package func end() {
        isSure.lower()
        doorbell.leaveAll()
        poller.close()
    }
}

/// Something that threads tell each other.
package final class Flag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isRaised: Bool { value.load(ordering: .acquiring) }

    package func raise() { value.store(true, ordering: .releasing) }

    package func lower() { value.store(false, ordering: .releasing) }
}
