import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Wakes for what was committed: the tasks of this process at once, those of this machine's other processes by the ``Doorbell``, and
/// those of other machines through the server.
///
/// A thread of its own sends this process's notifications and, in one process of the machine (``HostListener``), hears those of others and
/// looks for what nobody rings for (``ServerLook``).
/// So no transaction of the store has a NOTIFY in it, which would make all that notify wait for each other's flush; and while one is on
/// its way, further rings gather for the next. The thread connects again by itself when its connection is lost, so a process that has
/// messages to work is not taken for dead meanwhile. Where no other machine listens nothing is sent. Rings that are lost with a connection
/// are made good by a ring for everybody as it comes back, and by the looks that waiters take by themselves.
final class ServerBell: Sendable {
    private struct State {
        var rings: [Int: Ring] = [:]
        var isStopping = false
        var hearsEverything = false
        /// Whether tasks of this process wait, so that it may hear for all.
        var waits = false
    }

    let wakeups: Wakeups
    private let host: SameHost?
    private let sessions: Sessions
    private let state = Mutex(State())
    private let pipe: WakePipe
    private let started = Mutex(false)
    private let end = Latch()
    /// What this machine's notifications begin with, and no other's.
    private let mark: String
    private let hearsOthers: @Sendable () -> Bool
    private let hearsRingsAlone: Bool
    /// Begins a transaction of this process's, which carries out first what was said in SQL.
    private let carryOutVerdicts = Mutex<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - host: what this machine's processes share; `nil`: each hears the server by itself.
    ///   - hearsRingsAlone: whether nobody is woken for what a look finds. For tests.
    ///   - hearsOthers: whether this process is woken by the others' doorbell.
    init(
        _ sessions: Sessions, host: SameHost?, hearsRingsAlone: Bool,
        hearsOthers: @escaping @Sendable () -> Bool
    ) throws {
        (self.sessions, self.host) = (sessions, host)
        (self.hearsRingsAlone, self.hearsOthers) = (hearsRingsAlone, hearsOthers)
        wakeups = host?.doorbell.wakeups ?? Wakeups()
        mark = Self.mark + String(host?.lock.slots?.number ?? SystemRandom().next(), radix: 16) + ":"
        pipe = try WakePipe()
    }

    /// Whether nothing happens now that waiters would not be rung for, mostly at once.
    var hearsEverything: Bool { state.withLock { $0.hearsEverything } && (host == nil || hearsOthers()) }

    /// Says how this process begins a transaction. While all workers are busy with their messages nobody else would begin one.
    func carriesOutVerdicts(by begin: @escaping @Sendable () -> Void) { carryOutVerdicts.withLock { $0 = begin } }

    /// Begins to listen. Done once.
    func listen() {
        let isFirst = state.withLock { state in
            defer { state.waits = true }
            return !state.waits
        }
        guard isFirst else { return }
        start()
        pipe.wake()
    }

    /// Starts the thread, whose connection also says that this process lives. Done once.
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

    /// Says that something is about to be committed: a process that dies right after that has told nobody.
    func willCommit() { host?.listener.countCommit() }

    /// Rings for what was committed, and says that something was.
    func ring(_ rings: [(bucket: Int, ring: Ring)]) {
        host?.listener.countCommit()
        if rings.isEmpty { return }
        start()
        pass(on: rings)
        if host?.listener.isAlone == true { return }
        gather(rings)
        pipe.wake()
    }

    private func gather(_ rings: [(bucket: Int, ring: Ring)]) {
        state.withLock { state in
            for (bucket, ring) in rings { state.rings[bucket, default: Ring(tag: ring.tag)].add(ring) }
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
        var backoff = Backoff()
        var hasHeard = false
        while !state.withLock({ $0.isStopping }) {
            do {
                let server = try sessions.connect(silenceMax: Self.pingEvery)
                try serve(server, &hasHeard) { backoff.reset() }
                host?.listener.release()
            } catch {
                state.withLock { $0.hearsEverything = false }
                host?.listener.release()
                // A close does not wait for that; rings wait for the connection.
                let end = ContinuousClock.now + backoff.next()
                while !state.withLock({ $0.isStopping }), end > .now { pipe.wait(for: end - .now) }
            }
        }
    }

    /// Whether this process is the one that hears the server.
    private var mustHear: Bool { state.withLock { $0.waits } && host?.listener.take() ?? true }

    /// Hears, looks and sends until the store is closed or the connection lost.
    ///
    /// - Parameter hasHeard: whether this process has heard the server before.
    private func serve(_ server: ServerConnection, _ hasHeard: inout Bool, isGood: () -> Void) throws {
        let connection = PostgresConnection(server)
        let look = ServerLook(connection, sessions.locks, sessions.clock)
        var hears = false
        var lastQuestion = ContinuousClock.now
        var (nextLook, nextCount, restEnd) = (lastQuestion, lastQuestion, lastQuestion)
        var commitCount: UInt64?
        var isReadable = true
        while true {
            // A standby refuses that until it is promoted.
            if !hears, mustHear, try !connection.isStandby() {
                try server.run(
                    """
                    SELECT pg_advisory_lock_shared(\(Sessions.listenerLockClass), 0); LISTEN \(ServerConnection.quoted(name: channel))
                    """)
                hears = true
                // The server does not say what it was told while no process listened. Tasks that waited before look by themselves.
                if hasHeard || host?.listener.hasEverLooked == true { ringForAll() }
                hasHeard = true
            }
            let (rings, isStopping, waits) = state.withLock { state in
                defer { state.rings = [:] }
                return (state.rings, state.isStopping, state.waits)
            }
            if !rings.isEmpty {
                do {
                    try send(rings, server)
                } catch {
                    gather(rings.map { ($0.key, $0.value) })
                    throw error
                }
            }
            isGood()
            if isStopping { return }
            var isOwnHost = false
            for notification in server.notifications(reads: isReadable) {
                if notification.isOwn || host != nil && notification.payload.hasPrefix(mark) {
                    isOwnHost = true
                } else {
                    hear(notification.payload)
                    restEnd = .now
                }
            }
            if server.isLost || server.isSuperseded {
                throw ServerError(message: "the connection was lost", isLost: true)
            }
            if hears, isOwnHost, nextCount <= .now, let host {
                if try isAlone(server) { host.listener.sayAlone() }
                nextCount = .now + Self.lookEvery
            }
            if waits, nextLook <= .now {
                let count = host?.listener.commitCount
                let looks = hears || host?.listener.hasLooked != true || !hearsOthers()
                if looks, restEnd <= .now || count != commitCount {
                    let seen = try look.look(asksForOthers: hears && host != nil)
                    if !hearsRingsAlone { pass(on: seen) }
                    // Where all are of this machine, nobody comes to hold messages without a commit that is counted.
                    let mayRest = seen.isIdle && seen.isAlone
                    (restEnd, commitCount) = (.now + (mayRest ? Self.restMax : .zero), count)
                    lastQuestion = .now
                }
                nextLook = .now + (restEnd > .now ? Self.restLookEvery : Self.lookEvery)
                if looks { host?.listener.sayLooked(for: nextLook - .now) }
                state.withLock { $0.hearsEverything = true }
            }
            // A connection that died in silence is noticed by a question, and so are tables in the place of others.
            if .now - lastQuestion >= Self.pingEvery {
                try server.readTable()
                lastQuestion = .now
            }
            isReadable = server.hasUnread
            if !isReadable, state.withLock({ $0.rings.isEmpty }) {
                isReadable = pipe.wait(or: server.socket, for: waits ? nextLook - .now : Self.pingEvery)
            }
        }
    }

    /// Wakes those who wait for what a look has seen.
    private func pass(on seen: ServerLook.Seen) {
        if seen.hasSaidVerdicts { carryOutVerdicts.withLock { $0 }?() }
        if seen.hasLostWork { return ringForAll() }
        if !seen.isNews { return }
        pass(on: seen.rings)
        // For tasks that follow a log or wait for room.
        wakeups.ringForNews()
        host?.doorbell.ring((0..<RingBucket.count).map { ($0, Ring()) })
    }

    private var channel: String { "penstock:" + sessions.address.schema }

    private func send(_ rings: [Int: Ring], _ server: ServerConnection) throws {
        let channel = ServerConnection.quoted(text: channel)
        let calls = Self.payloads(of: rings, mark).map { "pg_notify(\(channel), \(ServerConnection.quoted(text: $0)))" }
        try server.run("SELECT \(calls.joined(separator: ", "))")
    }

    /// What is sent for rings: as few payloads as the server takes.
    static func payloads(of rings: [Int: Ring], _ mark: String) -> [String] {
        rings.reduce(into: []) { payloads, ring in
            let code = "\(ring.key)\(ring.value.code)"
            if let last = payloads.last, last.utf8.count + 1 + code.utf8.count <= payloadBytesMax {
                payloads[payloads.count - 1] += "," + code
            } else {
                payloads.append(mark + code)
            }
        }
    }

    /// Whether no other machine's process hears the server.
    private func isAlone(_ server: ServerConnection) throws -> Bool {
        try server.run(Sessions.otherListener).rowCount == 0
    }

    /// Rings of a process begin with a mark; of a statement of SQL's comes the name of a queue.
    private func hear(_ payload: String) {
        guard payload.hasPrefix(Self.mark) else {
            guard let queue = try? QueueName(payload) else { return ringForAll() }
            let ring = Ring(messages: Self.statementMessages, tag: RingBucket.tag(of: queue))
            return pass(on: [(RingBucket.of(queue), ring)])
        }
        let parts = payload.dropFirst(Self.mark.count).split(separator: ":").last ?? ""
        pass(on: parts.split(separator: ",").compactMap { Ring.decoded($0) })
    }

    /// Wakes the tasks of this machine for what was committed, here or on others.
    private func pass(on rings: [(bucket: Int, ring: Ring)]) {
        if let host { return host.doorbell.ring(rings) }
        for (bucket, ring) in rings {
            if ring.isForAll { wakeups.notices.ring(at: bucket) }
            wakeups.ringAll(at: bucket, for: ring.change)
        }
    }

    /// Wakes all that wait on this machine.
    private func ringForAll() {
        wakeups.ring(nil)
        guard let host else { return }
        host.doorbell.ring((0..<RingBucket.count).map { ($0, Ring(isForAll: true)) })
    }

    // No queue's name begins so.
    private static let mark = " "
    /// Bytes of a payload: NOTIFY takes fewer than 8,000 (https://www.postgresql.org/docs/15/sql-notify.html).
    static let payloadBytesMax = 7999
    /// How many messages a statement is taken to have brought, which does not say.
    private static let statementMessages = 64
    private static let pingEvery = Duration.seconds(5)
    /// How soon a worker's death is seen, and another process of the machine hears the server in place of one that has died.
    static let lookEvery = Duration.milliseconds(500)
    /// How long nobody looks while nobody holds messages, nothing is committed and no other machine listens.
    private static let restMax = Duration.seconds(2)
    /// How soon a commit is seen meanwhile: a worker that claims and dies at once is missed within a second.
    private static let restLookEvery = Duration.milliseconds(750)
}
