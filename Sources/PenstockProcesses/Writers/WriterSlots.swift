import CPenstockSystem
import Foundation
import PenstockCore
import Synchronization

/// The slots at which processes wait for the ``WriterLock``, in memory that all of them share. Each slot has a word that
/// says which process may touch what, a bell to sleep on, and room for a request.
///
/// ```
/// bytes     0 ..    63   header (SharedMemory)
///          64 ..    71   a number that no other memory has, of any machine; 0: nobody has asked for it yet
///        1024 ..  1535   64 words of 64 bits: the upper 61 the ticket, the lower 3 the state
///        2048 ..  2303   64 bells of 32 bits, each counts its rings
///        4096 ..         64 times a request of 3040 bytes and its answer of 1056 bytes: each a checksum of 64 bits, the
///                        length as 32 bits, and then the calls or the receipts
/// ```
///
/// A request is a call that the process which holds the lock may carry out in its own transaction, for the one that waits:
/// so writers of several processes share transactions and flushes, as callers of one process do. (It is flat combining,
/// after Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the Synchronization-Parallelism Tradeoff", 2010.)
///
/// ```
///   free ----> waiting ----> free                 the owner waits without a request
///   free ----> posted -----> free                 the owner takes its request back
///              posted <----> taken ----> done     the process with the lock carries it out, or gives it back
///                            taken, done -> free  the owner has its answer, or waits no longer
/// ```
///
/// No process is relied on to live. A slot is its owner's as long as the owner holds a lock on a byte of the file, which
/// goes with the process. What became of a request is a row of the database, written in the transaction that carries it
/// out and named by file, slot and ticket; so the owner finds out by itself when the other process died or was stopped. The
/// memory only says when to look. A request and an answer have a checksum with the ticket in it: a word that was damaged cannot
/// have a request carried out under a name by which its owner does not look for it.
package final class WriterSlots: Sendable {
    /// Where a slot's owner stands.
    package enum State: UInt64, Sendable {
        /// It does not wait. The owner may write a request.
        case free
        /// It waits for the lock.
        case waiting
        /// It waits, and its request can be taken by the process that holds the lock.
        case posted
        /// The process that holds the lock carries the request out.
        case taken
        /// The transaction with the request is committed, and flushed if that was asked for.
        case done
    }

    /// A slot's word.
    package struct Word: Equatable, Sendable {
        fileprivate let bits: UInt64

        fileprivate init(bits: UInt64) { self.bits = bits }

        package init(ticket: UInt64, state: State) { bits = ticket << 3 | state.rawValue }

        /// Another one for each wait.
        package var ticket: UInt64 { bits >> 3 }

        /// `nil` when the memory is damaged.
        package var state: State? { State(rawValue: bits & 7) }
    }

    /// A request that this process carries out.
    package struct Taken: Sendable {
        package let slot: Int
        package let ticket: UInt64
        package let bytes: [UInt8]
    }

    package static let count = 64
    package static let requestByteCount = slotByteCount - 1056
    private static let slotByteCount = 4096
    /// A checksum and a length.
    static let headByteCount = MemoryLayout<UInt64>.size + MemoryLayout<UInt32>.size
    private static let numberStart = SharedMemory.headerByteCount
    private static let wordsStart = 1024
    private static let bellsStart = 2048
    private static let requestsStart = 4096
    package static let layout = SharedMemory.Layout(
        name: "writers", version: 4, byteCount: requestsStart + count * slotByteCount)

    private let memory: SharedMemory
    /// Which file the slots lie in.
    package let fileNumber: FileNumber

    /// `nil` when the memory cannot be had.
    package init?(in folder: SharedFolder) {
        guard let memory = try? SharedMemory(Self.layout, in: folder),
            let fileNumber = FileNumber(of: memory.descriptor)
        else { return nil }
        (self.memory, self.fileNumber) = (memory, fileNumber)
    }

    /// A number that no other memory has, of any machine: it names the slots where those of many machines meet.
    package var number: UInt64 {
        let word = (memory.start + Self.numberStart).assumingMemoryBound(to: Atomic<UInt64>.self)
        let (_, found) = word.pointee.compareExchange(
            expected: 0, desired: SystemRandom().next() | 1, ordering: .sequentiallyConsistent)
        return found == 0 ? word.pointee.load(ordering: .sequentiallyConsistent) : found
    }

    // MARK: Words

    package func word(of slot: Int) -> Word {
        Word(bits: bits(of: slot).pointee.load(ordering: .sequentiallyConsistent))
    }

    package func change(_ slot: Int, from word: Word, to new: Word) -> Bool {
        bits(of: slot).pointee.compareExchange(
            expected: word.bits, desired: new.bits, ordering: .sequentiallyConsistent
        ).exchanged
    }

    package func set(_ slot: Int, to word: Word) {
        bits(of: slot).pointee.store(word.bits, ordering: .sequentiallyConsistent)
    }

    private func bits(of slot: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (memory.start + Self.wordsStart).assumingMemoryBound(to: Atomic<UInt64>.self) + slot
    }

    package func request(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory(of: slot)[..<Self.requestByteCount])
    }

    /// A slot's request and the answer to it.
    package func memory(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(
            start: memory.start + Self.requestsStart + slot * Self.slotByteCount, count: Self.slotByteCount)
    }

    /// The request or the answer that was written under `ticket`; `nil` when anything else is there.
    private static func content(of memory: UnsafeMutableRawBufferPointer, ticket: UInt64) -> [UInt8]? {
        var reader = ByteReader(Array(memory))
        guard let checksum = reader.integer(UInt64.self), let content = reader.bytes(),
            checksum == Self.checksum(of: content, ticket: ticket)
        else { return nil }
        return content
    }

    // MARK: Owners

    /// Makes the slot the caller's, unless it is another store's.
    package func own(_ slot: Int) -> Bool { lock(of: slot).take() }

    /// Gives the slot up.
    package func disown(_ slot: Int) { lock(of: slot).release() }

    /// Whether another store owns the slot.
    package func isOwned(_ slot: Int) -> Bool { lock(of: slot).isHeldByOthers }

    private func lock(of slot: Int) -> ByteLock { ByteLock(descriptor: memory.descriptor, offset: slot) }

    // MARK: Bells

    /// How often the bell of `slot` was rung, to be read before the look after which the owner sleeps.
    package func ringCount(of slot: Int) -> UInt32 {
        rings(of: slot).pointee.load(ordering: .sequentiallyConsistent)
    }

    /// Wakes the owner of `slot`.
    package func ring(_ slot: Int) {
        let rings = rings(of: slot)
        rings.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
        penstock_futex_wake(UnsafeMutableRawPointer(rings).assumingMemoryBound(to: UInt32.self))
    }

    /// Sleeps until the bell of `slot` was rung more often than `count`, or `limit` has passed. It may return earlier.
    package func wait(at slot: Int, after count: UInt32, upTo limit: Duration) {
        let rings = UnsafeMutableRawPointer(rings(of: slot)).assumingMemoryBound(to: UInt32.self)
        _ = penstock_futex_wait(rings, count, Int64(max(limit, .zero) / .nanoseconds(1)))
    }

    private func rings(of slot: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (memory.start + Self.bellsStart).assumingMemoryBound(to: Atomic<UInt32>.self) + slot
    }

    /// Wakes one owner that waits for the lock, the first after `slot`.
    func ringNext(after slot: Int?) {
        for offset in 1...Self.count {
            let next = ((slot ?? -1) + offset) % Self.count
            switch word(of: next).state {
            case .waiting, .posted: return ring(next)
            default: continue
            }
        }
    }

    // MARK: Requests, for the process that holds the lock

    package func take(besides ownSlot: Int?) -> [Taken] {
        var taken: [Taken] = []
        for slot in 0..<Self.count where slot != ownSlot {
            let word = word(of: slot)
            guard word.state == .posted else { continue }
            guard isOwned(slot) else {
                // Its process has died, and its caller with it.
                _ = change(slot, from: word, to: Word(ticket: word.ticket, state: .free))
                continue
            }
            // Copied before it is taken: as long as the word stays the same, the owner has not written another one.
            // One that is not what its owner wrote stays there, and its owner carries it out itself.
            guard let bytes = Self.content(of: request(of: slot), ticket: word.ticket) else { continue }
            let request = Taken(slot: slot, ticket: word.ticket, bytes: bytes)
            if change(slot, from: word, to: Word(ticket: word.ticket, state: .taken)) { taken.append(request) }
        }
        return taken
    }

    /// The transaction came to nothing: others may take the requests, or their owners carry them out.
    package func giveBack(_ requests: [Taken]) {
        for request in requests { move(request, from: .taken, to: .posted) }
    }

    /// The transaction is committed, and flushed where that was asked for: says so to the process that waits for it, and
    /// wakes it.
    ///
    /// - Parameter answer: what the database says as well. It is put beside the request, so that the process need not ask
    ///   the database.
    package func finish(_ request: Taken, answer: [UInt8]) {
        var writer = ByteWriter(answerMemory(of: request.slot))
        writer.write(Self.checksum(of: answer, ticket: request.ticket))
        writer.write(answer)
        if move(request, from: .taken, to: .done) { ring(request.slot) }
    }

    /// The answer to the request `ticket` of `slot` that ``finish(_:answer:)`` has put there; `nil` when anything else is
    /// there, such as half of another answer: then the database knows.
    func answer(of slot: Int, ticket: UInt64) -> [UInt8]? {
        Self.content(of: answerMemory(of: slot), ticket: ticket)
    }

    private func answerMemory(of slot: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory(of: slot)[Self.requestByteCount...])
    }

    static func checksum(of bytes: some Sequence<UInt8>, ticket: UInt64) -> UInt64 {
        Checksum.fnv1a(of: bytes, seed: ticket)
    }

    @discardableResult
    private func move(_ request: Taken, from old: State, to new: State) -> Bool {
        change(
            request.slot, from: Word(ticket: request.ticket, state: old), to: Word(ticket: request.ticket, state: new))
    }
}
