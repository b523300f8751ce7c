import NIOCore
import Penstock
public import PenstockCore
import PenstockProcesses
import PenstockWire
import Synchronization

/// A store at a server, `penstock serve`, through which programs on other machines use its queues as if the file were theirs.
///
/// It keeps every promise of `MessageStore`, with these differences:
///
/// - Nobody sees the process of a client die. What it holds comes back when its leases end, and not at once; a client that closes
///   the store gives it back. Work in leases of a length that may be waited for.
/// - A call that changes something, and to which no answer of the server has come, throws `outcomeUnknown`: its connection broke, or
///   another program has answered, such as a proxy in between. One whose server cannot be reached throws `unreachable`, and has
///   done nothing.
/// - A server that was started anew with another store than the one that was opened does nothing: calls throw `fileReplaced`.
/// - A call that was begun is not cut short when its task is cancelled; its answer is waited for, for a minute at most. That of an
///   extension that keeps a longer lease is waited for during a sixth of the lease, half a second at least, and it is then asked for once
///   more, on a new connection: those that have fallen silent cost no lease.
/// - The server's clock may be another one than this machine's. Moments that the server tells and that are waited for here are this
///   machine's, and so are those until which a message is suspended (`Verdict.suspend`), as whoever suspends it looks at the
///   clock here. All other moments go out as they are, such as `Due.at`, `Expiry.at` and those of queries: people have named them, and
///   they mean what the server's clock shows.
public final class RemoteStore: MessageStore {
    /// How long it may take to give back what is held.
    private static let releaseTime = TimeAmount.seconds(5)
    /// Leases that are given back with one call.
    private static let releaseCountMax = 1000

    private let connection: ServerConnection
    private let rings: RingFollower
    private let following: Task<Void, Never>
    private let time: any TimeSource
    /// What people see of this client; `nil`: what it claims is the server's.
    let worker: WorkerName?
    private let isReadOnly: Bool
    let held: HeldLeases
    private let calls = RunningCalls()
    private let knownClocks = Mutex(ClockDifference.unknown)

    /// Opens a store, and asks its server for a word.
    ///
    /// - Parameter worker: what people see in the list of workers; `nil`: what is claimed is held by the server's own process, and
    ///   comes back as soon as that dies.
    package static func open(
        _ url: String, token: String?, worker: WorkerName?, isReadOnly: Bool = false,
        time: any TimeSource = SystemTime(), random: any RandomSource = SystemRandom()
    ) async throws -> RemoteStore {
        let connection = try ServerConnection(try ServerURL(url), token: token)
        let rings = RingFollower(connection, time: SystemTime(), random: random)
        try await rings.greet()
        return RemoteStore(connection, rings, worker: worker, isReadOnly: isReadOnly, time: time)
    }

    private init(
        _ connection: ServerConnection, _ rings: RingFollower, worker: WorkerName?, isReadOnly: Bool,
        time: any TimeSource
    ) {
        self.connection = connection
        self.rings = rings
        self.worker = worker
        self.isReadOnly = isReadOnly
        self.time = time
        held = HeldLeases(time: time)
        following = Task { await rings.run() }
    }

    deinit { following.cancel() }

    /// Rings after every change at the server that a waiter may be waiting for.
    public var changes: Wakeups { rings.changes }

    /// How long a waiter may rely on ``changes`` before it looks by itself: as long as the server's store has it, or a second while
    /// the server cannot be asked.
    public var lookInterval: Duration { rings.lookInterval }

    /// Which store the server has; `nil` also while it has not said so.
    public func storeID() async throws -> StoreID? { connection.openedStore }

    /// Waits for the calls that were begun, gives back what is still held, and lets go of the connections, also in a task that is
    /// cancelled. What cannot be given back comes back when its leases end.
    public func close() async throws {
        guard await calls.close() else { return }
        following.cancel()
        await following.value
        // A task of its own: requests of one that is cancelled would not be made.
        await Task { [self] in
            await release(held.takeAll())
            await connection.close()
        }.value
        // Whoever waits here looks once more, and learns that the store was closed.
        changes.ring(nil)
    }

    private func release(_ leases: [Lease]) async {
        for start in stride(from: 0, to: leases.count, by: Self.releaseCountMax) {
            let part = leases[start..<min(start + Self.releaseCountMax, leases.count)]
            let request = RemoteCalls.settle.request(part.map { Settlement($0, .release) })
            do {
                _ = try await connection.answer(
                    to: request.bytes, at: WireFormat.callPath, .changing, within: Self.releaseTime)
            } catch { return }
        }
    }

    // MARK: Calls

    /// How far this machine's clock is ahead of the server's, as far as it is known.
    var clocks: ClockDifference { knownClocks.withLock { $0 } }

    /// Has the server carry out a call.
    ///
    /// - Parameters:
    ///   - limit: how long it may take.
    ///   - onNewConnection: whether no connection that is kept may be used.
    ///   - take: is given the answer while the call still runs. So what it notes is there when a close goes on that has
    ///     waited for the call.
    func answer<Answer: WireValue, Taken: Sendable>(
        to request: RemoteRequest<Answer>, within limit: TimeAmount = ServerConnection.callTime,
        onNewConnection: Bool = false, _ take: (Answer) throws -> Taken
    ) async throws -> Taken {
        if isReadOnly, !request.isReading {
            throw PenstockError(.readOnly, "The store was opened only to be read.")
        }
        return try await calls.run {
            try Task.checkCancellation()
            let asked = time.now
            let purpose: RequestPurpose = request.isReading ? .reading : .changing
            // Not cut short: an answer that nobody waits for would leave open what became of the call.
            let bytes = try await ownTask { [connection] in
                try await connection.answer(
                    to: request.bytes, at: WireFormat.callPath, purpose, within: limit,
                    onNewConnection: onNewConnection)
            }.value
            return try take(answer(in: bytes, purpose, asked: asked))
        }
    }

    func answer<Answer: WireValue>(to request: RemoteRequest<Answer>) async throws -> Answer {
        try await answer(to: request) { $0 }
    }

    /// What the answer to a call has no place for.
    func unexpectedAnswer(_ purpose: RequestPurpose) -> PenstockError {
        ForeignAnswer(status: 200).error(at: connection.url, purpose)
    }

    private func answer<Answer: WireValue>(
        in bytes: [UInt8], _ purpose: RequestPurpose, asked: Timestamp
    ) throws -> Answer {
        let (server, reply): (Timestamp, RemoteReply<Answer>)
        do {
            var reader = WireReader(bytes, isFromStore: true)
            (server, reply) = (try reader(), try reader())
            try reader.end()
        } catch {
            throw unexpectedAnswer(purpose)
        }
        let shown = ClockDifference(asked: asked, read: time.now, server: server)
        knownClocks.withLock { $0 = $0.narrowed(by: shown) }
        switch reply {
        case .answer(let answer): return answer
        case .error(let told) where told.error.code == .closed:
            throw PenstockError(
                .unreachable, "The server at \(connection.url) is about to stop, and nothing was done.",
                cause: told.error)
        case .error(let told): throw told.error
        }
    }
}
