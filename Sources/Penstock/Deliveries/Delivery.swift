internal import Logging
public import PenstockCore

/// One message that this process holds under a lease, with its payload.
///
/// Whoever gets it settles it, once: ``done()``, ``retry(_:outcome:after:holdsGroup:)``, ``reject(_:)`` or ``release()``. A delivery that
/// is let go unsettled is not lost: its message goes back in line when its lease or this process ends.
///
/// All of these throw `PenstockError` with code `leaseLost` when the message was taken back, cancelled or settled
/// before; nothing has changed then, and another worker may have it.
public struct Delivery<Element: Sendable>: Sendable {
    /// The queue that it comes from.
    public var queue: QueueName { holder.queue }
    /// Which attempt this is: 1 for the first.
    public var attempt: Int { claimed.attempt }
    /// When it was accepted.
    public var enqueuedAt: Timestamp { claimed.enqueuedAt }
    /// Names and values that travel with it.
    public var headers: [String: String] { claimed.headers }
    /// Its priority.
    public var priority: Int { claimed.priority }
    /// The message that it is a replay of.
    public var origin: SequenceNumber? { claimed.origin }
    /// Which task of which workflow it is; `nil` when it is none.
    public var task: TaskPlace? { claimed.task }
    /// The key of its group; `nil` when it has none.
    public var group: String? { claimed.group }
    /// What was enqueued.
    public let payload: Element

    /// Without its payload.
    let claimed: ClaimedMessage
    let holder: LeaseHolder
    let journal: StepJournal

    /// - Parameter journal: that of the delivery that this one is made of; `nil`: it begins here.
    init(_ message: ClaimedMessage, payload: Element, holder: LeaseHolder, journal: StepJournal? = nil) {
        var claimed = message
        claimed.payload = []
        (self.claimed, self.payload, self.holder) = (claimed, payload, holder)
        self.journal = journal ?? StepJournal(message.lease, holder)
    }

    func with<Other: Sendable>(payload: Other) -> Delivery<Other> {
        Delivery<Other>(claimed, payload: payload, holder: holder, journal: journal)
    }

    var lease: Lease { claimed.lease }

    /// What the message is, if it was told as it was enqueued: see ``EnqueueOptions/kind``.
    public var kind: String? { headers[KindName.header] }

    /// The message's place in the log.
    public var sequence: SequenceNumber { lease.sequence }
    /// The token of the lease, by which a store knows who settles: for `penstock_done` and its kin, in SQL of the application's own.
    public var token: LeaseToken { lease.token }

    /// Whether somebody wants the message cancelled, and the work on it should end: as far as this process knows.
    ///
    /// A ``Worker`` cancels the task of its handler then, and streams give the message up. Code that takes deliveries one by one
    /// learns of it with ``extend(by:)``. When it says ``done()`` the message is done; whatever else it says, the message is cancelled
    /// and does not come back.
    public var isCancelRequested: Bool { holder.inFlight.isAsked(lease) }

    /// Says that the message is finished.
    public func done() async throws {
        try await settle(Settlement(lease, .done))
    }

    /// Says that the attempt failed. The message comes back while attempts are left, and is a dead letter otherwise.
    ///
    /// - Parameters:
    ///   - error: what went wrong, kept with the message; of a long text the end.
    ///   - outcome: how the attempt ended, kept with it.
    ///   - delay: when it comes back; `nil`: as the queue's policy says.
    ///   - holdsGroup: whether nothing else of its group starts before `delay` has passed, which has to be given then.
    public func retry(
        _ error: String, outcome: AttemptOutcome = .failed, after delay: Duration? = nil, holdsGroup: Bool = false
    ) async throws {
        let state = try await settle(
            Settlement(lease, .retry(error: error, outcome: outcome, after: delay, holdsGroup: holdsGroup)))
        // It says nothing by itself, and is what people look for.
        guard outcome == .timedOut else { return }
        holder.handle.logger.warning(state.whyNotDone, metadata: holder.metadata(claimed, error: error))
    }

    /// Says that no attempt can help: the message is a dead letter at once, and `reason` is kept with it.
    public func reject(_ reason: String) async throws {
        try await settle(Settlement(lease, .dead(error: reason)))
    }

    /// Gives the message back unworked. It is ready at once, and the attempt does not count.
    public func release() async throws {
        try await settle(Settlement(lease, .release))
    }

    /// Says that the message goes on later, as `suspension` says; the attempt does not count. A ``Worker`` does so by itself: this
    /// is for code that settles deliveries and meets the error.
    public func suspend(_ suspension: Suspension) async throws {
        // It may be the error of one wait of several.
        let suspension = journal.suspension.flatMap(suspension.joined) ?? suspension
        try await settle(Settlement(lease, .suspend(until: suspension.until, event: suspension.event)))
    }

    /// Moves the end of the lease to `duration` from now. A ``Worker`` and `flatMap` extend the leases of what they work on by themselves;
    /// there the end only ever becomes later.
    ///
    /// - Throws: also `PenstockError` with code `invalidInput` when no lease may be that long.
    public func extend(by duration: Duration) async throws {
        try await holder.extend(lease, by: duration)
    }
}

extension Delivery {
    /// Settles for the program, which does so by itself.
    @discardableResult
    func settle(_ settlement: Settlement) async throws -> MessageState {
        let state = try await holder.settle(settlement)
        journal.settled()
        return state
    }

    /// The same within an application's own transaction.
    func settle(_ settlement: Settlement, joining transaction: some ApplicationTransaction) throws {
        try holder.settle(settlement, joining: transaction)
        journal.settled()
    }
}

extension Queue {
    /// A claimed message with its payload decoded.
    ///
    /// - Throws: what the codec throws, after telling of it. The caller makes the message a dead letter.
    func decoded(_ message: ClaimedMessage, by holder: LeaseHolder) throws -> Delivery<Element> {
        do {
            let payload = try codec.elements.decode(codec.chain.decode(message.payload, message.headers))
            return Delivery(message, payload: payload, holder: holder)
        } catch {
            log(error, of: message, by: holder)
            throw error
        }
    }

    /// Tells of a payload that cannot be decoded.
    func log(_ error: any Error, of message: ClaimedMessage, by holder: LeaseHolder) {
        handle.logger.warning(
            "payload cannot be decoded; the message is a dead letter",
            metadata: holder.metadata(message, error: "\(error)"))
    }

    /// A claimed message with its payload decoded; `nil` when it cannot be, and is a dead letter now.
    func opened(
        _ message: ClaimedMessage, by holder: LeaseHolder, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Delivery<Element>? {
        do {
            return try decoded(message, by: holder)
        } catch {
            do {
                // The caller may be who carries verdicts, and cannot wait for itself.
                _ = try await holder.line.whileAway {
                    try await holder.settleWhileHeld(
                        Settlement(message.lease, .dead(error: "\(error)", reason: .undecodable)))
                }
            } catch let error as PenstockError where error.code == .leaseLost {
                // Somebody was faster, by hand. It is not this reader's any more.
            }
            return nil
        }
    }
}
