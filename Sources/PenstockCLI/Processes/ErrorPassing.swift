import PenstockCore
import Synchronization

/// Passes on what a command writes to standard error, at the pace of whoever reads it: the command waits for that, as if it wrote there
/// itself.
///
/// Once the command has ended, or is to end, a reader that does not read holds up nobody: its message would be held as well, and
/// the worker could not stop. The end of what it wrote is kept with the attempt all the same.
final class ErrorPassing: Sendable {
    /// How long a reader has for a piece before it is asked whether anybody still waits for it.
    private static let patience = Duration.seconds(1)

    private let pass: @Sendable ([UInt8]) async -> Void
    private let isOver: @Sendable () -> Bool
    private let clock: any Clock<Duration>
    private let isGivenUp = Mutex(false)

    /// - Parameters:
    ///   - clock: the clock that the reader's time is measured by.
    ///   - isOver: whether the command has ended, or is to end.
    ///   - pass: writes, and returns when that is done.
    init(
        clock: any Clock<Duration>, isOver: @escaping @Sendable () -> Bool,
        pass: @escaping @Sendable ([UInt8]) async -> Void
    ) {
        self.clock = clock
        self.isOver = isOver
        self.pass = pass
    }

    /// Returns when `bytes` were written, or are given up.
    func write(_ bytes: [UInt8]) async {
        if isGivenUp.withLock({ $0 }) { return }
        let written = Latch()
        // A task of its own: what blocks in the system cannot be cancelled.
        Task { [pass] in
            await pass(bytes)
            written.open()
        }
        while !(await written.opens(within: Self.patience, on: clock)) {
            guard isOver() || Task.isCancelled else { continue }
            return isGivenUp.withLock { $0 = true }
        }
    }
}
