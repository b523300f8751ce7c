internal import PenstockCore

/// Waiting without holding a worker. What is waited for is on record, so that it is the same for every attempt. Waits
/// at once are one suspension, also when one begins after another has ended the attempt: which comes first is chance.
extension StepJournal {
    /// Returns when the deadline has passed that the first attempt has set.
    ///
    /// - Throws: ``Suspension`` until then.
    func sleep(_ name: String, until deadline: @Sendable () -> Timestamp) async throws {
        let recorded = try await step(name, isWait: true) { Self.bytes(deadline()) }
        let end = try Self.moment(recorded, of: name)
        if holder.handle.time.now < end { throw try suspend(until: end) }
    }

    /// What an event brought; `nil` when it did not come within `timeout` from the first attempt's question on.
    ///
    /// - Throws: ``Suspension`` while it may still come.
    func event(_ name: String, timeout: Duration?) async throws -> [UInt8]? {
        try refuseFaulty()
        let event = try EventName(name)
        let place = try take(name, kind: "event")
        do {
            return try await payload(of: event, place, timeout)
        } catch {
            giveBack(place)
            throw error
        }
    }

    private func payload(of event: EventName, _ place: StepName, _ timeout: Duration?) async throws -> [UInt8]? {
        let time = holder.handle.time
        let number = place.text.dropFirst("\(event)#event".count)
        if let record = try await record(of: place) { return record.result }
        let missed = try StepName("\(event)#missed\(number)")
        if try await record(of: missed) != nil { return nil }

        var deadline: Timestamp?
        if let timeout {
            let until = try StepName("\(event)#until\(number)")
            var record = try await record(of: until)
            if record == nil { record = try await keep(until, Self.bytes(time.now + timeout)) }
            deadline = try record.map { try Self.moment($0.result, of: event.text) }
        }
        while true {
            let asked = time.now
            if let payload = try await holder.handle.storage.event(event, for: lease.sequence) {
                return try await keep(place, payload).result
            }
            guard let deadline, time.now >= deadline else { break }
            // Of a look that began before the deadline and was answered after it, nobody knows to when it belongs.
            if asked >= deadline {
                _ = try await keep(missed, [])
                return nil
            }
        }
        throw try suspend(until: deadline ?? time.now + Limits.delayMax, event: event)
    }

    private static func bytes(_ moment: Timestamp) -> [UInt8] { Array("\(moment.microseconds)".utf8) }

    private static func moment(_ bytes: [UInt8], of name: String) throws -> Timestamp {
        Timestamp(
            microseconds: try ResultCodec.decode(bytes, as: Int64.self, of: "the step '\(name)', which waits,"))
    }
}
