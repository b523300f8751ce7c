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
///          80 ..    87   when somebody has looked for what nobody rings for, in microseconds of the boot clock
/// ```
///
/// The process that listens holds a lock on the first byte, which goes with it. What it says of other machines runs out by itself; then
/// all that commits is told to the server. A process that is stopped has not looked for a while, and others do.
final class HostListener: Sendable {
    private static let layout = SharedMemory.Layout(
        name: "listener", version: 1, byteCount: SharedMemory.headerByteCount + 3 * MemoryLayout<UInt64>.size)
    /// How long it is taken to stay so that nobody else listens.
    private static let aloneMax = Duration.seconds(1)
    /// After that without a look others look.
    private static let lookMax = Duration.milliseconds(600)

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
    var hasEverLooked: Bool { lookedAt.pointee.load(ordering: .relaxed) != 0 }

    /// Whether somebody has looked for all within the last 0.6 seconds.
    var hasLooked: Bool {
        let (last, now) = (lookedAt.pointee.load(ordering: .relaxed), UInt64(clamping: time.boot.microseconds))
        return last <= now && now - last <= UInt64(Self.lookMax.wholeMicroseconds)
    }

    /// How many transactions this machine's processes have committed. Starts again at zero.
    var commitCount: UInt64 { commits.pointee.load(ordering: .sequentiallyConsistent) }

    func countCommit() { commits.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// Says that this process has looked.
    func sayLooked() {
        lookedAt.pointee.store(UInt64(clamping: time.boot.microseconds), ordering: .relaxed)
    }

    /// Whether no other machine listens.
    var isAlone: Bool {
        let (end, now) = (aloneUntil.pointee.load(ordering: .relaxed), UInt64(clamping: time.boot.microseconds))
        return end > now && end - now <= UInt64(Self.aloneMax.wholeMicroseconds)
    }

    /// Says that for a while no other machine listens.
    func sayAlone() {
        aloneUntil.pointee.store(
            UInt64(clamping: time.boot.microseconds + Self.aloneMax.wholeMicroseconds), ordering: .relaxed)
    }

    private var aloneUntil: UnsafeMutablePointer<Atomic<UInt64>> { words }

    private var commits: UnsafeMutablePointer<Atomic<UInt64>> { words + 1 }
    private var lookedAt: UnsafeMutablePointer<Atomic<UInt64>> { words + 2 }

    private var words: UnsafeMutablePointer<Atomic<UInt64>> {
        (memory.start + SharedMemory.headerByteCount).assumingMemoryBound(to: Atomic<UInt64>.self)
    }
}
