internal import PenstockCore
internal import Synchronization

/// The events of a bus in memory: what is kept for replay, and for subscribers that are behind.
final class MemoryBuffer: Sendable {
    private struct State {
        var length: Int
        /// Events up to this ordinal are no longer kept for replay, though a slow subscriber may still get them.
        var truncatedTo = 0
    }

    let hub: LogHub<EventRecord>
    private let backlog: Int
    private let time = SystemTime()
    private let state: Mutex<State>

    init(length: Int, backlog: Int) {
        self.backlog = backlog
        state = Mutex(State(length: length))
        hub = LogHub(
            tail: LogTail(
                at: LogPlace(sequence: SequenceNumber(0), ordinal: 0), countMax: max(length, backlog), bytesMax: .max))
    }

    var length: Int { state.withLock { $0.length } }

    /// Keeps another number of events from now on. What is beyond a smaller one goes at once.
    func setLength(_ length: Int) {
        let spent = state.withLock { state in
            hub.changeTail { tail in
                state.length = length
                state.truncatedTo = max(state.truncatedTo, tail.reach.ordinal - length)
                tail.countMax = max(length, backlog)
                tail.trim(to: tail.countMax)
            }
        }
        withExtendedLifetime(spent) {}
    }

    @discardableResult
    func publish(_ event: some Event) -> SequenceNumber {
        let name = type(of: event).eventName
        let now = time.now
        var sequence = SequenceNumber(0)
        hub.publish { reach in
            sequence = SequenceNumber(reach.sequence.rawValue + 1)
            let entry = EventEntry(sequence: sequence, name: name, sentAt: now, payload: [])
            let record = EventRecord(content: KnownEvent(entry, event))
            return LogItem(sequence: sequence, ordinal: reach.ordinal + 1, bytes: 1, value: .success(record))
        }
        return sequence
    }

    /// The end of what there is now.
    func beginning() -> Waiter<LogBeginning> {
        let waiter = Waiter<LogBeginning>()
        if let reach = hub.tail?.reach { waiter.answer(.success(LogBeginning(at: reach))) }
        return waiter
    }

    /// What is kept for replay, oldest first.
    var kept: [EventRecord] {
        // The copy goes when no lock is held: by then it may be the last to hold an event.
        let (tail, truncatedTo, length) = state.withLock { (hub.tail, $0.truncatedTo, $0.length) }
        guard let tail else { return [] }
        let from = max(truncatedTo, tail.reach.ordinal - length, tail.base.ordinal)
        // In memory nothing is missing, so numbers and places are the same.
        return tail.items(after: SequenceNumber(Int64(from)), limit: .max).compactMap { try? $0.value.get() }
    }
}
