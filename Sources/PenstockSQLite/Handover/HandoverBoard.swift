import Foundation
import Synchronization

/// The handover's file, in memory that every process on it shares: slots, each with a word that says who may touch what,
/// a request and an answer.
final class HandoverBoard: Sendable {
    /// Where a slot's request stands.
    enum State: UInt64 {
        /// There is none. The owner may write one.
        case idle
        /// It can be taken by who has the turn, or taken back by its owner.
        case posted
        /// Who has the turn carries it out in a transaction, and writes the answer. Under the turn of somebody else: who
        /// took it is dead.
        case taken
        /// The transaction is committed, and not known to be on the disk.
        case committed
        /// The answer can be read.
        case answered
    }

    /// A slot's word.
    struct Word: Equatable {
        /// Another one for each request: whoever is late does not meet the next one.
        var ticket: UInt64
        var state: State

        fileprivate init(_ bits: UInt64) {
            ticket = bits >> 3
            state = State(rawValue: bits & 7) ?? .taken
        }

        init(ticket: UInt64, state: State) {
            (self.ticket, self.state) = (ticket, state)
        }

        fileprivate var bits: UInt64 { ticket << 3 | state.rawValue }
    }

    static let slotCount = 32
    /// Words, names of transactions and bells.
    private static let headSize = 4096
    private static let bellsStart = 1024
    private static let bellSize = 64
    private static let slotSize = 4096
    private static let answerSize = 1024
    static let byteCount = headSize + slotCount * slotSize

    // Unchecked, as a pointer is not Sendable. The words are atomic, and say who may touch the rest; the memory stays
    // mapped until the board is let go.
    private struct Memory: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
    }

    private let memory: Memory

    /// Maps the file that is open as `descriptor`, and makes it as long as it must be; `nil` when there is no room.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        if status.st_size < Self.byteCount {
            #if os(Linux)
                guard posix_fallocate(descriptor, 0, off_t(Self.byteCount)) == 0 else { return nil }
            #else
                guard ftruncate(descriptor, off_t(Self.byteCount)) == 0 else { return nil }
            #endif
        }
        let start = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let start, start != MAP_FAILED else { return nil }
        memory = Memory(start: start)
    }

    deinit {
        munmap(memory.start, Self.byteCount)
    }

    // MARK: Words

    func word(of slot: Int) -> Word {
        Word(integer(slot).pointee.load(ordering: .sequentiallyConsistent))
    }

    /// Whether any slot's request stands at `state`.
    func has(_ state: State) -> Bool {
        (0..<Self.slotCount).contains { word(of: $0).state == state }
    }

    /// Changes a slot's word, if it is still `word`.
    func move(_ slot: Int, from word: Word, to state: State) -> Bool {
        change(slot, from: word, to: Word(ticket: word.ticket, state: state))
    }

    /// Begins with another request, if the word is still `word`.
    func begin(_ slot: Int, after word: Word, as state: State) -> Bool {
        change(slot, from: word, to: Word(ticket: word.ticket &+ 1, state: state))
    }

    private func change(_ slot: Int, from old: Word, to new: Word) -> Bool {
        integer(slot).pointee.compareExchange(
            expected: old.bits, desired: new.bits, ordering: .sequentiallyConsistent
        ).exchanged
    }

    /// The name of the transaction in which the request is carried out.
    func batch(of slot: Int) -> UInt64 {
        integer(Self.slotCount + slot).pointee.load(ordering: .acquiring)
    }

    func setBatch(of slot: Int, _ batch: UInt64) {
        integer(Self.slotCount + slot).pointee.store(batch, ordering: .releasing)
    }

    private func integer(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        memory.start.assumingMemoryBound(to: Atomic<UInt64>.self) + index
    }

    // MARK: Requests and answers

    func request(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: start(of: slot), count: Self.slotSize - Self.answerSize)
    }

    func answer(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(
            start: start(of: slot) + Self.slotSize - Self.answerSize, count: Self.answerSize)
    }

    private func start(of slot: Int) -> UnsafeMutableRawPointer {
        memory.start + Self.headSize + slot * Self.slotSize
    }

    // MARK: Bells

    #if os(Linux)
        /// Makes the bell of a slot that is the caller's now.
        func makeBell(of slot: Int) {
            sem_init(bell(of: slot), 1, 0)
        }

        /// Forgets rings that nobody has waited for.
        func quietBell(of slot: Int) {
            while sem_trywait(bell(of: slot)) == 0 {}
        }

        /// Wakes who waits at `slot`.
        func ring(_ slot: Int) {
            sem_post(bell(of: slot))
        }

        /// Waits for a ring.
        ///
        /// - Returns: false when none came in time, by the wall clock.
        func waitForRing(_ slot: Int, upTo limit: Duration) -> Bool {
            var end = timespec()
            clock_gettime(CLOCK_REALTIME, &end)
            let nanoseconds = end.tv_nsec + Int(limit / .nanoseconds(1))
            end.tv_sec += nanoseconds / 1_000_000_000
            end.tv_nsec = nanoseconds % 1_000_000_000
            return sem_timedwait(bell(of: slot), &end) == 0
        }

        private func bell(of slot: Int) -> UnsafeMutablePointer<sem_t> {
            (memory.start + Self.bellsStart + slot * Self.bellSize).assumingMemoryBound(to: sem_t.self)
        }
    #else
        // Nobody has a slot there: locks of an open file are missing as well.
        func makeBell(of slot: Int) {}
        func quietBell(of slot: Int) {}
        func ring(_ slot: Int) {}
        func waitForRing(_ slot: Int, upTo limit: Duration) -> Bool { false }
    #endif
}
