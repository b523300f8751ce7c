import HTTPTypes
import Hummingbird
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockWire
import Synchronization

/// `POST /v1/store/rings`: waits for a client of the store until something has changed here (``PenstockCore/Wakeups``).
///
/// The client says which ring was the last that it knows of. So no ring is lost between two requests, and none while a client
/// waits for nothing.
struct RingWaits: Sendable {
    let store: PenstockStore
    let served: ServedStore
    let time: any TimeSource
    /// Tells this start of this server from others, which count rings of their own.
    let server: UInt64
    private let waits = Waits()
    /// How long a client may leave a request open. It asks again then.
    private static let waitMax = Duration.seconds(50)
    /// Requests that wait at the same time. A client that is not heard looks at the store from time to time.
    fileprivate static let countMax = 2048

    func add(to v1: RouterGroup<ServerContext>) {
        // A store may begin to listen to other processes when its bell is first asked for: that is before any client comes.
        _ = store.storage.changes
        v1.post("store/rings", use: wait)
    }

    @Sendable private func wait(_ request: Request, _ context: ServerContext) async throws -> Response {
        try StoreCalling.checkVersion(of: request)
        try await served.requireOpened(by: request)
        var reader = try await StoreCalling.reader(of: request, bytesMax: WireFormat.ringBytesMax)
        let wait: RingWait = try reader()
        try reader.end()
        // For the messages that a caller is woken for others are not. The rest anybody may hear: of a queue nothing is told but that
        // something may have changed there, or in one that shares its bucket.
        if wait.bell == .work || wait.passesOn { try context.principal.require(.consume) }
        let changes = store.storage.changes
        if wait.passesOn {
            changes.ringAll(at: wait.bucket)
            return try await answer(isRung: false, ring: wait.after)
        }
        let last = changes.lastRing(of: wait.bell, at: wait.bucket)
        if wait.server != server || last > wait.after { return try await answer(isRung: true, ring: last) }
        guard waits.begin() else { throw Problem.tooManyRings }
        defer { waits.end() }
        let end = try await context.wait(atMost: Self.waitMax, time) {
            try await changes.wait(at: wait.bucket, after: wait.after, for: wait.bell, room: wait.room)
        }
        // A token that was taken back waits for nothing more, and others hear of what this one was woken for.
        do {
            try context.requireStill(.consume, [])
            if wait.bell == .work { try context.principalNow?.require(.consume) }
        } catch {
            if wait.bell == .work { changes.ringAll(at: wait.bucket) }
            throw error
        }
        switch end {
        case .happened: return try await answer(isRung: true, ring: changes.lastRing(of: wait.bell, at: wait.bucket))
        // A ring that came just now is after the one that the client knows of still.
        case .timeIsUp, .serverStops: return try await answer(isRung: false, ring: wait.after)
        case .clientGone:
            // It may have been woken for a message just now, for which nobody else was.
            if wait.bell == .work { changes.ringAll(at: wait.bucket) }
            throw Problem.clientGone("The client has gone while it waited for a ring.")
        }
    }

    /// Requests that wait. They are half of a listener's connections at most, so that calls of the store have the others.
    private final class Waits: Sendable {
        private let count = Mutex(0)

        /// False when there are too many.
        func begin() -> Bool {
            count.withLock { count in
                if count >= RingWaits.countMax { return false }
                count += 1
                return true
            }
        }

        func end() { count.withLock { $0 -= 1 } }
    }

    private func answer(isRung: Bool, ring: UInt64) async throws -> Response {
        var writer = WireWriter()
        writer(
            RingAnswer(
                isRung: isRung, ring: ring, server: server, lookInterval: store.storage.remoteLookInterval,
                store: try await served.id))
        return StoreCalling.response(writer.bytes)
    }
}

extension Problem {
    fileprivate static let tooManyRings = Problem(
        .serviceUnavailable, code: PenstockError.Code.busy.rawValue,
        "\(RingWaits.countMax) requests wait for rings at this server, which are as many as may.", retryAfterSeconds: 1)
}

extension Wakeups {
    /// The number of the last ring of a bell at a bucket.
    fileprivate func lastRing(of bell: Bell, at bucket: Int) -> UInt64 {
        bell.change.map { lastRing(for: $0, at: bucket).ring } ?? notices.lastRing(at: bucket).ring
    }

    /// Returns when a bell has rung at a bucket after the ring of that number.
    fileprivate func wait(at bucket: Int, after ring: UInt64, for bell: Bell, room: Int) async throws {
        guard let change = bell.change else {
            return try await notices.wait(at: bucket, after: Notices.Token(ring: ring))
        }
        try await wait(at: bucket, after: Token(ring: ring), for: change, room: max(room, 1))
    }
}
