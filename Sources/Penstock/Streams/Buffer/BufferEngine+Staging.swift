internal import Dispatch
internal import Synchronization

extension BufferEngine {
    /// Blocks the thread while as many values wait for the store as may be staged, for sources that cannot be suspended
    /// otherwise. The task that runs the engine must not need the thread.
    package func waitForStaging() {
        let mustWait = state.withLock { state in
            state.machine.phase == .running && state.machine.owed > 0 && state.machine.operations.isFull
        }
        guard mustWait else { return }
        let isWanted = DispatchSemaphore(value: 0)
        whenWanted { _ in isWanted.signal() }
        isWanted.wait()
    }
}
