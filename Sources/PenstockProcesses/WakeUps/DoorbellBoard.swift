import Foundation
package import PenstockCore
import Synchronization

/// What a commit rings a queue's bell for.
package struct Ring: Equatable {
    /// How many messages more can be claimed.
    package var messages = 0
    /// Whether everybody has to look, as the queue itself has changed.
    package var isForAll = false
    /// The queue's tag.
    package var tag: UInt16 = 0

    package init(messages: Int = 0, isForAll: Bool = false, tag: UInt16 = 0) {
        self.messages = messages
        self.isForAll = isForAll
        self.tag = tag
    }
}

/// What the doorbell's file says, in memory that every process on it shares: for each place of ``Wakeups`` how often it
/// was rung for, for how many messages that nobody was woken for yet, and until when somebody attends it (``WakeSuppression``).
///
/// Who rings writes to the word and then reads the attendance; who ends an attendance writes that and then reads the
/// word. All of it is in one order for everybody, so one of the two sees the other.
///
/// It only ever says whom to wake. A process that dies between two steps leaves a number that is too high or too low;
/// that costs a look, or the time to the next one, and never a message.
package final class DoorbellBoard: Sendable {
    /// A place's word: 16 bits, 16 bits and 32 bits, so that all of it changes at once.
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

    /// The words of all places.
    // Unchecked, as a pointer is not Sendable. Nothing is reached through it but atomic integers, and the memory stays
    // mapped until the board is let go.
    private struct Words: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<Atomic<UInt64>>

        subscript(place: Int) -> UnsafeMutablePointer<Atomic<UInt64>> { pointer + place }

        func attendanceEnd(at place: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
            pointer + Wakeups.placeCount + place
        }
    }

    /// The file's size: for each place its word and the end of its attendance, and one byte that is written to wake who
    /// watches the file.
    package static let byteCount = clapper + 1
    /// Where that byte is.
    package static let clapper = 2 * Wakeups.placeCount * MemoryLayout<UInt64>.size
    /// How long ahead a place is attended at most.
    package static let attendanceMax = Duration.milliseconds(5)

    private let words: Words

    /// Maps the file that is open as `descriptor`, and makes it as long as it must be.
    package init(_ descriptor: Int32) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemErrors.failure("The doorbell cannot be read", errno) }
        if status.st_size < Self.byteCount {
            // Room is taken now: on a full disk there may be none later, and a ring needs none then. What another
            // process has rung meanwhile stays.
            #if os(Linux)
                let failure = posix_fallocate(descriptor, 0, off_t(Self.byteCount))
            #else
                let failure = ftruncate(descriptor, off_t(Self.byteCount)) == 0 ? 0 : errno
            #endif
            if failure != 0 { throw SystemErrors.failure("The doorbell cannot be made", failure) }
        }
        let memory = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let memory, memory != MAP_FAILED else {
            throw SystemErrors.failure("The doorbell cannot be mapped", errno)
        }
        words = Words(pointer: memory.assumingMemoryBound(to: Atomic<UInt64>.self))
    }

    deinit {
        munmap(words.pointer, Self.byteCount)
    }

    /// What is announced at `place`.
    package func word(at place: Int) -> Word {
        Word(words[place].pointee.load(ordering: .sequentiallyConsistent))
    }

    /// Counts a ring at `place`: for so many messages, or for everybody.
    package func ring(at place: Int, _ ring: Ring) {
        change(place) { word in
            word.rings &+= 1
            if ring.isForAll { word.ringsForAll &+= 1 }
            let (sum, overflow) = word.messages.addingReportingOverflow(UInt32(clamping: ring.messages))
            word.messages = overflow ? .max : sum
            return true
        }
    }

    /// Takes messages to wake somebody for.
    ///
    /// - Returns: how many there were, up to `count`. Nobody else is told of them.
    package func take(_ count: Int, at place: Int) -> Int {
        var taken: UInt32 = 0
        change(place) { word in
            taken = min(word.messages, UInt32(clamping: count))
            word.messages -= taken
            return taken > 0
        }
        return Int(taken)
    }

    /// Says that nothing is left of what was announced at `place`, unless somebody rang since `word` was read.
    package func clear(_ place: Int, ifStill word: Word) {
        var empty = word
        empty.messages = 0
        if empty == word { return }
        _ = words[place].pointee.compareExchange(
            expected: word.bits, desired: empty.bits, ordering: .acquiringAndReleasing)
    }

    /// Says that somebody attends `place` until `end`, for the queue with that tag.
    package func attend(_ place: Int, until end: BootTime, tag: UInt16) {
        let end = UInt64(clamping: end.microseconds)
        words.attendanceEnd(at: place).pointee.store(end << 16 | UInt64(tag), ordering: .sequentiallyConsistent)
    }

    /// Says that nobody attends `place`.
    package func leave(_ place: Int) {
        words.attendanceEnd(at: place).pointee.store(0, ordering: .sequentiallyConsistent)
    }

    /// The tag of the queue for which somebody attends `place`; `nil` when nobody does. An end that is further away than
    /// any was written before the machine started.
    package func attendedTag(at place: Int, now: BootTime) -> UInt16? {
        let word = words.attendanceEnd(at: place).pointee.load(ordering: .sequentiallyConsistent)
        let (end, now) = (word >> 16, UInt64(clamping: now.microseconds))
        guard end > now, end - now <= UInt64(Self.attendanceMax.wholeMicroseconds) else { return nil }
        return UInt16(truncatingIfNeeded: word)
    }

    /// Changes a word as `body` does, unless that says `false`.
    private func change(_ place: Int, _ body: (inout Word) -> Bool) {
        var old = words[place].pointee.load(ordering: .acquiring)
        while true {
            var word = Word(old)
            guard body(&word) else { return }
            let (done, now) = words[place].pointee.compareExchange(
                expected: old, desired: word.bits, ordering: .sequentiallyConsistent)
            if done { return }
            old = now
        }
    }
}
