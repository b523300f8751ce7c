import Hummingbird
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What receivers say of messages: that they are finished with them, or need them for longer.
extension Call {
    func deleteMessage() async throws -> Response {
        let input = try input(ShownHandle.self)
        let place = try await consumed(input.QueueUrl)
        try await finish([try handle(input, place)], in: place.queue)
        return .amazonEmpty
    }

    func deleteMessageBatch() async throws -> Response {
        let input = try input(BatchInput<ShownHandle>.self)
        let place = try await consumed(input.QueueUrl)
        var batch = Batch()
        var handles: [ReceiptHandle] = []
        for (id, entry) in try Batch.checked(input.Entries, \.Id) {
            do {
                handles.append(try handle(entry, place))
                batch.succeed(id)
            } catch {
                batch.fail(id, error)
            }
        }
        try await finish(handles, in: place.queue)
        return .amazonJSON(batch.json)
    }

    func changeMessageVisibility() async throws -> Response {
        let input = try input(ShownHandle.self)
        let place = try await consumed(input.QueueUrl)
        let change = try visibility(input, place)
        if let refusal = try await apply([change], in: place.queue).first ?? nil { throw refusal }
        return .amazonEmpty
    }

    func changeMessageVisibilityBatch() async throws -> Response {
        let input = try input(BatchInput<ShownHandle>.self)
        let place = try await consumed(input.QueueUrl)
        var batch = Batch()
        var changes: [(id: String, change: VisibilityChange)] = []
        for (id, entry) in try Batch.checked(input.Entries, \.Id) {
            do { changes.append((id, try visibility(entry, place))) } catch { batch.fail(id, error) }
        }
        let refusals = try await apply(changes.map(\.change), in: place.queue)
        for ((id, _), refusal) in zip(changes, refusals) {
            if let refusal { batch.fail(id, refusal) } else { batch.succeed(id) }
        }
        return .amazonJSON(batch.json)
    }

    // MARK: Input

    private func consumed(_ url: String?) async throws -> ReceiptHandle.Place {
        let queue = try queue(url, for: .consume)
        _ = try await directory.settings(of: queue)
        return try await directory.place(of: queue)
    }

    private func handle(_ input: ShownHandle, _ place: ReceiptHandle.Place) throws(Refusal) -> ReceiptHandle {
        guard let text = input.ReceiptHandle, !text.isEmpty else { throw .missing("ReceiptHandle") }
        guard let handle = ReceiptHandle(text, of: place) else { throw .invalidHandle }
        return handle
    }

    private struct VisibilityChange {
        var handle: ReceiptHandle
        var seconds: Int
    }

    private func visibility(_ input: ShownHandle, _ place: ReceiptHandle.Place) throws(Refusal) -> VisibilityChange {
        let handle = try handle(input, place)
        guard let seconds = input.VisibilityTimeout else { throw .missing("VisibilityTimeout") }
        try Refusal.require("VisibilityTimeout", seconds, in: 0...43_200)
        return VisibilityChange(handle: handle, seconds: seconds)
    }

    // MARK: Carrying it out

    /// Finishes the messages of those that hold them, or held them last.
    private func finish(_ handles: [ReceiptHandle], in queue: QueueName) async throws {
        let foreign = try await foreign(handles, to: queue)
        let handles = handles.filter { !foreign.contains($0.lease.sequence) }
        if handles.isEmpty { return }
        let results = try await store.settle(handles.map { Settlement($0.lease, .done) })
        for (handle, result) in zip(handles, results) where result == .leaseLost {
            try await finishUnclaimed(handle, in: queue)
        }
    }

    /// Takes a message out of the line whose time was over before its receiver was finished with it, unless somebody has received it
    /// anew: what was done is not done again.
    ///
    /// The store knows the token no more, so the handle is believed in nothing: the record of the attempt says whose it was.
    ///
    /// The look and the step after it are two calls. Should somebody receive the message in between, he loses it; the receiver that
    /// was finished has done the work, so none is lost.
    private func finishUnclaimed(_ handle: ReceiptHandle, in queue: QueueName) async throws {
        let sequence = handle.lease.sequence
        guard let record = try await record(of: handle, in: queue), record.attempt == handle.attempt,
            let last = record.attempts.last, last.attempt == handle.attempt,
            last.worker.utf8.elementsEqual(try workerName.text.utf8)
        else { return }
        do {
            switch record.state {
            case .ready, .scheduled, .blocked: _ = try await store.apply(.cancel, to: .sequences([sequence]))
            case .dead: _ = try await store.apply(.discard, to: .sequences([sequence]))
            // Somebody has it, or it has ended.
            case .leased, .pending, .done, .dropped, .cancelled: break
            }
        } catch let error as PenstockError where error.code == .illegalTransition || error.code == .unknownMessage {
            // It has ended meanwhile.
        }
    }

    /// Moves the ends of leases, or gives the messages back, in the order of the changes.
    ///
    /// - Returns: for each why it was not done, if it was not.
    private func apply(_ changes: [VisibilityChange], in queue: QueueName) async throws -> [Refusal?] {
        let foreign = try await foreign(changes.map(\.handle), to: queue)
        func isForeign(_ change: VisibilityChange) -> Bool { foreign.contains(change.handle.lease.sequence) }
        var refusals: [Refusal?] = []
        var rest = changes[...]
        while let first = rest.first {
            // One call for as many as are of one kind.
            let run = rest.prefix { ($0.seconds == 0) == (first.seconds == 0) && isForeign($0) == isForeign(first) }
            rest = rest.dropFirst(run.count)
            let areDone =
                isForeign(first)
                ? run.map { _ in false }
                : first.seconds == 0
                    ? try await store.settle(run.map { Settlement($0.handle.lease, Self.givenBack) }).map {
                        $0 != .leaseLost
                    }
                    : try await store.extend(run.map { LeaseExtension($0.handle.lease, by: .seconds($0.seconds)) }).map(
                        \.isHeld)
            for (change, isDone) in zip(run, areDone) {
                refusals.append(isDone ? nil : try await refusal(of: change.handle, in: queue))
            }
        }
        return refusals
    }

    /// The messages of other queues among these. Whoever knows a lease can write a handle that names his own queue; it is taken for
    /// that of a message that does not exist. A caller who may consume all queues gains nothing by it.
    private func foreign(_ handles: [ReceiptHandle], to queue: QueueName) async throws -> Set<SequenceNumber> {
        if principal.queues == nil || handles.isEmpty { return [] }
        let query = MessageQuery(sequences: handles.map(\.lease.sequence), limit: Limits.rowsMax)
        var foreign: Set<SequenceNumber> = []
        try await store.eachPage(of: query) { page in
            foreign.formUnion(page.filter { $0.queue != queue }.map(\.sequence))
        }
        return foreign
    }

    private func refusal(of handle: ReceiptHandle, in queue: QueueName) async throws -> Refusal {
        if let record = try await record(of: handle, in: queue), !record.state.isEnd {
            return Refusal("MessageNotInflight", "The message referred to is not in flight.")
        }
        return .invalid(
            "Value for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout "
                + "change.")
    }

    /// The message of a handle, with its attempts; `nil` when the queue has none such.
    private func record(of handle: ReceiptHandle, in queue: QueueName) async throws -> MessageRecord? {
        let query = MessageQuery(sequences: [handle.lease.sequence], limit: 1, withAttempts: true)
        let record = try await store.messages(query).records.first
        return record?.queue == queue ? record : nil
    }
}

extension MessageState {
    /// Whether nothing more becomes of a message for its receivers.
    fileprivate var isEnd: Bool {
        switch self {
        case .done, .dropped, .cancelled: true
        case .pending, .scheduled, .blocked, .ready, .leased, .dead: false
        }
    }
}
