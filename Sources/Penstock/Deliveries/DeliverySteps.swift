public import PenstockCore

/// Durable steps: what a handler has done and need not do again.
///
/// A handler that is run again, after a crash, a failure or a wait, begins at its beginning. A step that is over is not taken
/// again: what it gave is on record with the message, and the handler gets it at once.
///
/// - A step's effect happens at least once: a process that dies between the effect and the record takes the step again.
///   `step(_:in:_:)` takes it exactly once, where the effect is in the same database.
/// - What a handler does outside of steps it does in each run. A handler should come to the same steps in the same order
///   whenever the steps before gave the same.
/// - The second step of a name is recorded as `name#2`, and so on, in the order in which they are taken. While one runs, and once
///   it has failed, no other of its name may begin in the same attempt, as later attempts could not tell them apart: that throws
///   `invalidInput`, and the attempt fails whatever the handler makes of it. In a loop put the item into the name.
/// - A step has no other step within it, and no wait: a later attempt has it from the record, and would not come to them. That throws
///   `invalidInput`, too.
/// - A step is recorded as it ends, and its lease is extended with that.
/// - Steps throw `PenstockError` with code `leaseLost` when the message is with another worker. Then the step was not taken, or it
///   was and the other worker takes it again.
extension Delivery {
    /// Takes a step, unless it is over: then what it gave comes from the record.
    ///
    /// ```swift
    /// let charge = try await delivery.step("charge") { try await bank.charge(order.cents) }
    /// try await delivery.step("mail") { try await send(Mail(about: charge)) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the step's name in its message, without `#`, of at most `Limits.givenStepNameBytesMax` bytes.
    ///   - isolation: the actor that `body` runs on: the caller's, unless it says otherwise.
    ///   - body: does it. What it gives has been through JSON when this returns, in the first run as in later ones; bytes
    ///     are kept as they are.
    /// - Throws: what `body` throws, and then nothing is recorded; `PenstockError` with code `leaseLost`, `invalidInput` before
    ///   `body` is called, also when the message has `Limits.stepCountMax` steps or `Limits.journalBytesMax` bytes of them,
    ///   `undecodable` when what is on record is no `Value`; ``Reject`` when `body` gave more than `Limits.resultBytesMax` bytes, or
    ///   than there is room for, or what JSON cannot hold, such as `Double.nan`: no attempt can help, and each would do it again.
    public func step<Value: Codable & Sendable>(
        _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        let bytes = try await journal.step(name, isolation: isolation) {
            try StepJournal.encode(try await body(), of: name)
        }
        return try ResultCodec.decode(bytes, as: Value.self, of: "the step '\(name)' of message \(sequence)")
    }

    /// Takes a step that gives nothing, unless it is over.
    ///
    /// It does as the one that gives a value.
    public func step(
        _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async throws {
        _ = try await journal.step(name, isolation: isolation) {
            try await body()
            return []
        }
    }
}

/// Waiting without holding a worker, for hours or months.
///
/// A handler that waits ends with the error ``Suspension``, which it lets pass, and is run again when it goes on. Meanwhile its
/// message is `scheduled`, the attempt does not count, and the process may end. Should the handler keep the error to itself, the
/// attempt ends all the same: no further step of it is taken, and however it returns, its message goes on later. An error of its own that
/// it throws beside a wait is logged, and no failed attempt: so what is to be tried again soon comes before the wait, and not beside it.
///
/// It may wait for several things at once, such as in child tasks, and is run again with the first of them. Only one of them
/// may be an event: a second one throws `PenstockError` with code `invalidInput`, and the attempt fails.
extension Delivery {
    /// Waits for so long, counted from the first time that a handler of this message comes here.
    ///
    /// ```swift
    /// try await delivery.step("remind") { try await send(reminder) }
    /// try await delivery.sleep("a week", for: .seconds(7 * 86_400))
    /// try await delivery.step("remind again") { try await send(reminder) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: the wait's name among the message's steps.
    ///   - duration: how long, from zero to ten years (`Limits.delayMax`).
    /// - Throws: ``Suspension`` until the time is over.
    public func sleep(_ name: String, for duration: Duration) async throws {
        try Limits.require(wait: duration)
        try await journal.sleep(name) { [time = holder.handle.time] in time.now + duration }
    }

    /// Waits until that moment. The moment of the first run counts.
    ///
    /// - Parameters:
    ///   - name: the wait's name among the message's steps.
    ///   - deadline: the moment.
    /// - Throws: ``Suspension`` until then.
    public func sleep(_ name: String, until deadline: Timestamp) async throws {
        try await journal.sleep(name) { deadline }
    }

    /// Waits for an event of the message, or of the workflow that it is a task of, for as long as it takes. Another program
    /// sends it by ``PenstockStore/emit(_:_:to:durability:)``.
    ///
    /// What it brought is recorded as a step, and stays the same for this message.
    ///
    /// ```swift
    /// let approval = try await delivery.event("approved", as: Approval.self)
    /// ```
    ///
    /// - Throws: ``Suspension`` until the event is there; `PenstockError` with code `undecodable` when it brought no `Value`.
    public func event<Value: Decodable>(_ name: String, as type: Value.Type) async throws -> Value {
        guard let bytes = try await journal.event(name, timeout: nil) else {
            throw PenstockError(
                .storage, "The event '\(name)' is on record as missed, and was to be waited for for ever.")
        }
        return try ResultCodec.decode(bytes, as: type, of: "the event '\(name)'")
    }

    /// Waits for an event, but no longer than `timeout` from the first time that a handler of this message comes here.
    ///
    /// - Returns: what the event brought; `nil` when it did not come in time, in every later run too. The next wait for it
    ///   in the same handler has a time of its own.
    /// - Throws: as ``event(_:as:)``.
    public func event<Value: Decodable>(
        _ name: String, as type: Value.Type, timeout: Duration
    ) async throws -> Value? {
        try Limits.require(wait: timeout)
        return try await journal.event(name, timeout: timeout).map {
            try ResultCodec.decode($0, as: type, of: "the event '\(name)'")
        }
    }
}

extension Limits {
    fileprivate static func require(wait: Duration) throws(PenstockError) {
        guard wait >= .zero, wait <= delayMax else {
            throw PenstockError(.invalidInput, "A handler waits for 0 to ten years (delayMax), not for \(wait).")
        }
    }
}
