import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Wakes for what was committed: the tasks of this process at once, and those of others through the server.
///
/// A thread of its own hears the server's notifications and sends those of this process. So no transaction of the store has a
/// NOTIFY in it, which would make all that notify wait for each other's flush; and while one is on its way, further rings gather
/// for the next. Rings that are lost with a connection are made good by a ring for everybody as it comes back, and by the
/// looks that waiters take by themselves.
final class ServerBell: Sendable {
    private struct State {
        var rings: [Int: Ring] = [:]
        var isStopping = false
        var isListening = false
    }

    let wakeups = Wakeups()
    private let sessions: Sessions
    private let random: any RandomSource
    private let state = Mutex(State())
    private let pipe: WakePipe
    private let started = Mutex(false)
    private let end = Latch()

    init(_ sessions: Sessions, random: any RandomSource) throws {
        self.sessions = sessions
        self.random = random
        pipe = try WakePipe()
    }

    /// Whether notifications are heard now.
    var isListening: Bool { state.withLock { $0.isListening } }

    /// Begins to listen. Done once.
    func start() {
        let mustStart = started.withLock { started in
            defer { started = true }
            return !started
        }
        guard mustStart else { return }
        do {
            try SystemThread.start("penstock bell") { [self] in
                run()
                end.open()
            }
        } catch {
            // Without a thread the looks of those who wait have to do.
            end.open()
        }
    }

    /// Rings for what was committed.
    func ring(_ rings: [(bucket: Int, ring: Ring)]) {
        if rings.isEmpty { return }
        for (bucket, ring) in rings {
            if ring.isForAll { wakeups.notices.ring(at: bucket) }
            wakeups.ringAll(at: bucket, for: ring.change)
        }
        start()
        gather(rings)
        pipe.wake()
    }

    private func gather(_ rings: [(bucket: Int, ring: Ring)]) {
        state.withLock { state in
            for (bucket, ring) in rings { state.rings[bucket, default: Ring()].add(ring) }
        }
    }

    func stop() {
        state.withLock { $0.isStopping = true }
        pipe.wake()
    }

    /// Stops, and returns when the thread is through.
    func close() async {
        stop()
        if started.withLock({ $0 }) { await end.waitThoughCancelled() }
    }

    // MARK: The thread

    private func run() {
        var backoff = Backoff(random: random)
        while !state.withLock({ $0.isStopping }) {
            do {
                let server = try sessions.connect(silenceMax: Self.pingEvery)
                try server.run("LISTEN \(ServerConnection.quoted(name: channel))")
                backoff.reset()
                // What was rung for while nobody listened is not known.
                wakeups.ring(nil)
                state.withLock { $0.isListening = true }
                try serve(server)
            } catch {
                state.withLock { $0.isListening = false }
                // A close does not wait for that; rings wait for the connection.
                let end = ContinuousClock.now + backoff.next()
                while !state.withLock({ $0.isStopping }), end > .now { pipe.wait(for: end - .now) }
            }
        }
    }

    /// Hears and sends until the store is closed or the connection lost.
    private func serve(_ server: ServerConnection) throws {
        while true {
            let (rings, isStopping) = state.withLock { state in
                defer { state.rings = [:] }
                return (state.rings, state.isStopping)
            }
            if !rings.isEmpty {
                do {
                    try send(rings, server)
                } catch {
                    gather(rings.map { ($0.key, $0.value) })
                    throw error
                }
            }
            if isStopping { return }
            for notification in server.notifications() where !notification.isOwn { hear(notification.payload) }
            if server.isLost { throw ServerError(message: "the connection was lost", isLost: true) }
            if state.withLock({ $0.rings.isEmpty }) { pipe.wait(or: server.socket, for: Self.pingEvery) }
            // A connection that died in silence is noticed by a question.
            if !pipe.wasWoken { try server.run("SELECT 1") }
        }
    }

    private var channel: String { "penstock:" + sessions.address.schema }

    private func send(_ rings: [Int: Ring], _ server: ServerConnection) throws {
        let text = rings.map { "\($0.key)\($0.value.code)" }.joined(separator: ",")
        try server.run(
            "SELECT pg_notify(\(ServerConnection.quoted(text: channel)), \(ServerConnection.quoted(text: Self.mark + text)))"
        )
    }

    /// Rings of a process begin with a mark; of a statement of SQL's comes the name of a queue.
    private func hear(_ payload: String) {
        guard payload.hasPrefix(Self.mark) else { return wakeups.ring(try? QueueName(payload)) }
        for part in payload.dropFirst(Self.mark.count).split(separator: ",") {
            guard let code = part.last, let bucket = Int(part.dropLast()), (0..<RingBucket.count).contains(bucket)
            else { continue }
            if code == "a" { wakeups.notices.ring(at: bucket) }
            wakeups.ringAll(at: bucket, for: code == "r" ? .room : code == "l" ? .log : .work)
        }
    }

    private static let mark = "#"
    private static let pingEvery = Duration.seconds(5)
}

extension Ring {
    /// One letter for what it is for.
    fileprivate var code: String {
        if isForAll { return "a" }
        return switch change {
        case .work: "w"
        case .room: "r"
        case .log: "l"
        }
    }
}
