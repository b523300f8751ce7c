import Foundation
package import PenstockCore
import Synchronization

/// What the doorbell's file says, in memory that every process on it shares: for each bucket of ``Wakeups`` how often it
/// was rung for, for how many messages that no task was woken for yet, and until when a process attends it (``Doorbell``).
///
/// A process that rings writes to the word and then reads the attendance. A process that ends an attendance writes that and
/// then reads the word. All processes see these steps in one order, so one of the two sees the other.
///
/// ```
/// bytes     0 ..    63   header (SharedMemory)
///          64 ..  8255   1024 words of 64 bits: 16 bits rings, 16 bits rings for everybody, 32 bits messages
///        8256 .. 16447   1024 words of 64 bits: 48 bits the end of the attendance, 16 bits the queue's tag
///       16448 .. 16455   the byte that is touched, and the bytes that are locked
/// ```
///
/// It only ever says whom to wake. A process that dies between two steps leaves a number that is too high or too low;
/// that costs a look, or the time to the next one, and never a message.
package final class DoorbellBoard: Sendable {
    /// A bucket's word: 16 bits, 16 bits and 32 bits, so that all of it changes at once.
    package struct Word: Equatable {
        /// How often it was rung for. Starts again at zero.
        package var rings: UInt16
        /// How often of these for everybody, whether there are messages or not.
        package var ringsForAll: UInt16
        /// How many messages are announced that nobody was woken for.
        package var messages: UInt32

        fileprivate init(_ bits: UInt64) {
            rings = UInt16(truncatingIfNeeded: bits >> 48)
            ringsForAll = UInt16(truncatingIfNeeded: bits >> 32)
            messages = UInt32(truncatingIfNeeded: bits)
        }

        fileprivate var bits: UInt64 { UInt64(rings) << 48 | UInt64(ringsForAll) << 32 | UInt64(messages) }
    }

    /// The byte that is written to wake the processes that watch the file. Stores that listen hold a lock on it, or on the
    /// one after it.
    static let touchedByte = attendanceStart + RingBucket.count * MemoryLayout<UInt64>.size
    private static let wordsStart = SharedMemory.headerByteCount
    private static let attendanceStart = wordsStart + RingBucket.count * MemoryLayout<UInt64>.size
    package static let layout = SharedMemory.Layout(name: "doorbell", version: 2, byteCount: touchedByte + 8)
    /// How long ahead a bucket is attended at most.
    package static let attendanceMax = Duration.milliseconds(5)

    private let memory: SharedMemory

    /// - Throws: ``PenstockError`` when the memory cannot be had.
    package init(in folder: SharedFolder) throws {
        memory = try SharedMemory(Self.layout, in: folder)
        path = folder.file(Self.layout.fileName)
    }

    /// The file, for the watchers.
    let path: String

    // MARK: Stores that listen

    /// What a store listens for. Each has a byte of its own to be locked.
    package enum Purpose: Int {
        case anything
        /// Every ring, and not only for work: for tasks that follow a log or wait for room.
        case news
    }

    /// Says that this store listens, until the board is let go. It must be said before the first look, so that a
    /// process that commits after that look rings.
    package func listen(to purpose: Purpose = .anything) {
        lock(for: purpose).share()
        // What was rung for until now, while the bucket was attended, is heard now.
        if purpose == .news { touch() }
    }

    /// Whether another store listens for this, in this process or in another.
    func isHeard(by purpose: Purpose) -> Bool { lock(for: purpose).isHeldByOthers }

    private func lock(for purpose: Purpose) -> ByteLock {
        ByteLock(descriptor: memory.descriptor, offset: Self.touchedByte + purpose.rawValue)
    }

    /// Has the kernel wake all processes that listen. They read what the board says.
    func touch() {
        var one: UInt8 = 1
        SystemCall.uninterrupted { pwrite(memory.descriptor, &one, 1, off_t(Self.touchedByte)) }
    }

    // MARK: Words

    private func wordBits(_ bucket: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (memory.start + Self.wordsStart).assumingMemoryBound(to: Atomic<UInt64>.self) + bucket
    }

    private func attendanceEnd(_ bucket: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (memory.start + Self.attendanceStart).assumingMemoryBound(to: Atomic<UInt64>.self) + bucket
    }

    /// What is announced at each bucket.
    package var words: [Word] { (0..<RingBucket.count).map(word) }

    package func word(at bucket: Int) -> Word {
        Word(wordBits(bucket).pointee.load(ordering: .sequentiallyConsistent))
    }

    /// Counts a ring at `bucket`: for so many messages, or for everybody.
    package func ring(at bucket: Int, _ ring: Ring) {
        change(bucket) { word in
            word.rings &+= 1
            if ring.isForAll { word.ringsForAll &+= 1 }
            word.messages = word.messages.addingClamped(UInt32(clamping: ring.messages))
            return true
        }
    }

    /// Takes messages, to wake tasks of this process for them.
    ///
    /// - Returns: how many there were, up to `count`. Nobody else is told of them.
    package func take(_ count: Int, at bucket: Int) -> Int {
        var taken: UInt32 = 0
        change(bucket) { word in
            taken = min(word.messages, UInt32(clamping: count))
            word.messages -= taken
            return taken > 0
        }
        return Int(taken)
    }

    /// Says that nothing is left of what was announced at `bucket`, unless a process rang since `word` was read.
    package func clear(_ bucket: Int, ifStill word: Word) {
        var empty = word
        empty.messages = 0
        if empty == word { return }
        _ = wordBits(bucket).pointee.compareExchange(
            expected: word.bits, desired: empty.bits, ordering: .acquiringAndReleasing)
    }

    /// Says that this process attends `bucket` until `end`, for the queue with that tag.
    package func attend(_ bucket: Int, until end: BootTime, tag: UInt16) {
        let end = UInt64(clamping: end.microseconds)
        attendanceEnd(bucket).pointee.store(end << 16 | UInt64(tag), ordering: .sequentiallyConsistent)
    }

    /// Says that nobody attends `bucket`.
    package func leave(_ bucket: Int) {
        attendanceEnd(bucket).pointee.store(0, ordering: .sequentiallyConsistent)
    }

    /// The tag of the queue for which a process attends `bucket`; `nil` when none does. An end that is further away than any
    /// was written before the machine started.
    package func attendedTag(at bucket: Int, now: BootTime) -> UInt16? {
        let word = attendanceEnd(bucket).pointee.load(ordering: .sequentiallyConsistent)
        let (end, now) = (word >> 16, UInt64(clamping: now.microseconds))
        guard end > now, end - now <= UInt64(Self.attendanceMax.wholeMicroseconds) else { return nil }
        return UInt16(truncatingIfNeeded: word)
    }

    /// Changes a word as `body` does, unless that says `false`.
    private func change(_ bucket: Int, _ body: (inout Word) -> Bool) {
        var old = wordBits(bucket).pointee.load(ordering: .acquiring)
        while true {
            var word = Word(old)
            guard body(&word) else { return }
            let (done, now) = wordBits(bucket).pointee.compareExchange(
                expected: old, desired: word.bits, ordering: .sequentiallyConsistent)
            if done { return }
            old = now
        }
    }
}
