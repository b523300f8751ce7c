import PenstockCore
import PenstockProcesses
import Synchronization

/// Which process of this machine hears the server's notifications for all of them and looks for what nobody rings for, and until when
/// nobody hears them elsewhere. A notification costs the server a wake-up for each session that listens, and each of these a wake-up here.
///
/// ```
/// bytes     0 ..    63   header (SharedMemory)
///          64 ..    71   until when no other machine listens, in microseconds of the boot clock
///          72 ..    79   how many transactions this machine's processes have committed
///          80 ..    87   until when somebody looks for what nobody rings for, in microseconds of the boot clock
/// ```
///
/// The process that listens holds a lock on the first byte, which goes with it. What it says of other machines runs out by itself; then
/// all that commits is told to the server. A process that is stopped has not looked for a while, and others do.
final class HostListener: Sendable {
    private static let layout = SharedMemory.Layout(
        name: "listener", version: 2, byteCount: SharedMemory.headerByteCount + 3 * MemoryLayout<UInt64>.size)
    /// How long it is taken to stay so that nobody else listens.
    private static let aloneMax = Duration.seconds(1)
    /// So late after its time others look, in place of a process that is stopped.
    private static let lateMax = Duration.milliseconds(100)
    private static let pauseMax = Duration.seconds(1)

    private let memory: SharedMemory
    private let time = SystemTime()
    private var lock: ByteLock { ByteLock(descriptor: memory.descriptor, offset: 0) }

    /// - Throws: ``PenstockError`` when the memory cannot be had.
    init(in folder: SharedFolder) throws {
        memory = try SharedMemory(Self.layout, in: folder)
    }

    /// Has this process listen for all, unless another one does. Where processes cannot know of each other each listens.
    ///
    /// - Returns: whether this one does.
    func take() -> Bool { !ByteLock.isKnown || lock.take() }

    /// Lets another process listen.
    func release() { lock.release() }

    /// Whether anybody has looked for all since the memory was made.
    var hasEverLooked: Bool { lookedUntil.pointee.load(ordering: .relaxed) != 0 }

    /// Whether somebody looks for all, and is not late with its next look.
    var hasLooked: Bool { isAhead(lookedUntil, atMost: Self.pauseMax + Self.lateMax) }

    /// How many transactions this machine's processes have committed. Starts again at zero.
    var commitCount: UInt64 { commits.pointee.load(ordering: .sequentiallyConsistent) }

    func countCommit() { commits.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// Says that this process has looked, and looks again after a pause of a second at most.
    func sayLooked(for pause: Duration) {
        lookedUntil.pointee.store(after(min(pause, Self.pauseMax) + Self.lateMax), ordering: .relaxed)
    }

    /// Whether no other machine listens.
    var isAlone: Bool { isAhead(aloneUntil, atMost: Self.aloneMax) }

    /// Says that for a while no other machine listens.
    func sayAlone() { aloneUntil.pointee.store(after(Self.aloneMax), ordering: .relaxed) }

    private func after(_ duration: Duration) -> UInt64 { UInt64(clamping: (time.boot + duration).microseconds) }

    /// Whether a moment is still to come; one that is too far ahead is garbage.
    private func isAhead(_ moment: UnsafeMutablePointer<Atomic<UInt64>>, atMost longest: Duration) -> Bool {
        let (end, now) = (moment.pointee.load(ordering: .relaxed), UInt64(clamping: time.boot.microseconds))
        return end > now && end - now <= UInt64(longest.wholeMicroseconds)
    }

    private var aloneUntil: UnsafeMutablePointer<Atomic<UInt64>> { words }

    private var commits: UnsafeMutablePointer<Atomic<UInt64>> { words + 1 }
    private var lookedUntil: UnsafeMutablePointer<Atomic<UInt64>> { words + 2 }

    private var words: UnsafeMutablePointer<Atomic<UInt64>> {
        (memory.start + SharedMemory.headerByteCount).assumingMemoryBound(to: Atomic<UInt64>.self)
    }
}
