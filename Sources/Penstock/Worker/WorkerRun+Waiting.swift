internal import PenstockCore

/// What a worker waits for.
extension WorkerRun {
    private static var drainLook: Duration { .milliseconds(250) }

    /// Returns after `delay`, or when the worker is told to stop or not to wait for anything more. Handlers go on, and what
    /// they finish gathers.
    ///
    /// - Parameter wasStopping: whether the worker was told to stop before the call that has failed. It may have been during that.
    func pause(for delay: Duration, wasStopping: Bool) async {
        let end = time.boot + delay
        while true {
            slots.expectNews()
            // Each time: an earlier alarm, of what was waited for before, calls once and has to be set again.
            alarm.set(to: end)
            if end.left(at: time.boot) == nil || stopping.isOpen != wasStopping || inFlight.isDismissed { return }
            await slots.wait()
        }
    }

    /// Returns when a message may have come to one of the queues, a place is free, or something is to be handed in or given back.
    ///
    /// - Parameter room: how many messages the worker can take, of whichever queue.
    func waitForWork(_ round: WorkerRound, room: Int) async {
        let changes = handle.storage.changes
        let calls = round.claimLoop.sources.compactMap { [slots] source in
            source.before.flatMap {
                changes.callForWork(in: source.holder.queue, after: $0, room: room) { slots.touch() }
            }
        }
        // What a limit has kept back another worker may have taken, and nobody rings when nothing is left.
        let isDraining = options.drain && round.isWithheld
        let look = min(handle.storage.lookInterval, isDraining ? Self.drainLook : .seconds(3600))
        let lookEnd = round.lookEnd(at: time.boot, look)
        alarm.set(to: slots.waitingEnd.map { $0.microseconds < lookEnd.microseconds ? $0 : lookEnd } ?? lookEnd)
        if let due = round.claimLoop.nextDue {
            // What is due goes by the wall clock, which has to be looked at now and then.
            let deadline = min(due, time.now + look)
            // Cancelled only with the worker, which is found out in the next round.
            try? await firstOf([
                { [slots] in await slots.wait() }, { [time] in try await time.sleep(until: deadline) },
            ])
        } else {
            await slots.wait()
        }
        for call in calls { changes.cancel(call) }
    }
}
