import PenstockCore
import Synchronization

/// Passes on to this process's waiters what happens in others: one for each store, on one thread, however many wait.
///
/// It hears rings, and it looks: four times a second while somebody waits, and when a worker's file was closed, which is
/// how the kernel says that its process may have died.
final class Watch {
    /// How long it goes without a look.
    static let lookMilliseconds: Int32 = 250
    /// After a worker's file was closed its lock goes, but not in the same moment.
    private static let suspicionMilliseconds: Int32 = 10
    private static let suspiciousLooks = 3

    private let board: DoorbellBoard
    private let wakeups: Wakeups
    private let lookout: Lookout
    private let isSure: Flag
    /// What was announced at each place, as far as it was passed on.
    private var heard: [DoorbellBoard.Word]
    private var suspiciousLooksLeft = 0
    private var looks = 0

    /// Begins to watch: rings from now on are passed on.
    ///
    /// - Parameter isSure: is raised once it has looked without a failure.
    init(board: DoorbellBoard, wakeups: Wakeups, lookout: Lookout, isSure: Flag) {
        self.board = board
        self.wakeups = wakeups
        self.lookout = lookout
        self.isSure = isSure
        heard = (0..<Wakeups.placeCount).map(board.word)
    }

    /// When to look next.
    var pauseMilliseconds: Int32 {
        suspiciousLooksLeft > 0 ? Self.suspicionMilliseconds : Self.lookMilliseconds
    }

    /// Somebody rang: wakes who waits for news where it rang and, of those who wait for work, as many as there are
    /// messages that nobody else was woken for.
    func hear() {
        for place in heard.indices {
            let (word, before) = (board.word(at: place), heard[place])
            heard[place] = word
            if word.ringsForAll != before.ringsForAll {
                wakeups.ringAll(at: place)
            } else if word.rings != before.rings {
                wakeups.ring(at: place) { waiting in waiting == 0 ? 0 : board.take(waiting, at: place) }
            }
        }
    }

    /// A worker's file was closed, and its process may be dead.
    func suspect() {
        suspiciousLooksLeft = Self.suspiciousLooks
    }

    /// Looks for what nobody rings for, if anybody waits for it.
    func look() {
        looks += 1
        let isSuspicious = suspiciousLooksLeft > 0
        if isSuspicious { suspiciousLooksLeft -= 1 }
        guard wakeups.waiterCount > 0 else { return }
        do {
            let sight = try lookout.look(forTheDead: isSuspicious || looks.isMultiple(of: 2))
            isSure.raise()
            if sight.hasChanged {
                wakeups.ringForNews()
                for place in sight.places { wakeups.ringAll(at: place) }
            }
            if sight.hasLostWork { wakeups.ring(nil) }
        } catch {
            // It cannot be seen now. Waiters look by themselves meanwhile, and the next look may do better.
            isSure.lower()
            wakeups.ring(nil)
        }
    }

    /// Lets go of the file.
    func end() {
        isSure.lower()
        lookout.close()
    }
}

/// Something that threads tell each other.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }

    func raise() { value.store(true, ordering: .releasing) }

    func lower() { value.store(false, ordering: .releasing) }
}
