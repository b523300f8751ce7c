import Penstock

/// Enqueues lines, a batch at a time.
struct LineBatches: Sendable {
    /// Lines that were not enqueued, with what was before them. None after them was tried.
    struct Stopped: Error {
        /// The numbers of the lines that the call was for, but for those of its first ones that it has enqueued.
        var lines: ClosedRange<Int>
        var tally: EnqueueTally
        var cause: any Error
    }

    let queue: Queue<[UInt8]>
    /// What each message is like, but for its payload.
    let template: NewMessage
    let durability: Durability
    /// How long to wait while there is no room; `nil`: for ever.
    let timeout: Duration?

    /// Enqueues `lines`, and counts them on from `tally`, or throws ``Stopped``.
    func enqueue(_ lines: [Line], after tally: EnqueueTally) async throws -> EnqueueTally {
        var (lines, tally) = (lines[...], tally)
        while true {
            do {
                tally.add(try await queue.enqueue(lines.map(message), durability: durability, timeout: timeout))
                return tally
            } catch let error as PenstockError where error.code == .queueFull && lines.count > 1 {
                // The queue takes a batch whole or not at all. One line after the other, some would have found room: these
                // are found by halves, down to the first that does not.
                let half = lines.count / 2
                tally = try await enqueue(Array(lines.prefix(half)), after: tally)
                lines = lines.dropFirst(half)
            } catch let error as PenstockError where error.code == .timedOut && !error.receipts.isEmpty {
                // There was room meanwhile, however many lines the call was for: the next one has as long to wait for it.
                tally.add(error.receipts)
                lines = lines.dropFirst(error.receipts.count)
            } catch {
                let receipts = (error as? PenstockError)?.receipts ?? []
                tally.add(receipts)
                let numbers = lines.dropFirst(receipts.count).map(\.number)
                throw Stopped(lines: (numbers.first ?? 0)...(numbers.last ?? 0), tally: tally, cause: error)
            }
        }
    }

    private func message(_ line: Line) -> NewMessage {
        var message = template
        message.payload = line.bytes
        return message
    }
}
