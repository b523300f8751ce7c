import NIOCore
import PenstockCore
import PenstockWire
import Synchronization

/// Hears at the server what rings there, wherever somebody of this process waits for it: each place has one request that the server
/// leaves open until it rings.
///
/// A place keeps the number of the server's last ring that was passed on. So a ring that came while nobody waited here is heard
/// with the next wait: it costs a look at the most, and none is lost. Another start of the server counts anew, which the client
/// takes for a ring.
///
/// There are only so many of these requests. Where more is waited for, all who wait look by themselves now and then.
final class RingFollower: Sendable {
    /// Where somebody waits, and for what.
    struct Place: Hashable, Sendable {
        var bell: Bell
        var bucket: Int
    }

    private struct Heard {
        var ring: UInt64 = 0
        var server: UInt64 = 0
    }

    private struct State {
        var followed: Set<Place> = []
        /// Where somebody may wait and nobody follows, as that is done at so many other places.
        var left: Set<Place> = []
        var heard: [Place: Heard] = [:]
        /// How long one may rely on rings; `nil`: the last request has failed.
        var lookInterval: Duration?
    }

    /// How long one may rely on rings while the server cannot be asked for them, or not for all of them.
    private static let blindInterval = Duration.seconds(1)
    /// Longer than the server leaves a request open.
    private static let askTime = TimeAmount.seconds(70)
    /// Each place takes a connection, here and at the server, and of those a client has a thousand (``ServerConnection``).
    private static let placesMax = 1000
    /// Pauses after failures have a part of chance, so that not all clients of a server come back to it at once.
    private static let pauses = RetryPolicy(base: .milliseconds(200), cap: .milliseconds(6400))

    /// What waits here.
    let changes: Wakeups
    private let connection: ServerConnection
    private let time: any TimeSource
    private let random: any RandomSource
    private let placesMax: Int
    private let endBegins: @Sendable () async -> Void
    private let state = Mutex(State())
    private let places: AsyncStream<Place>
    private let begins: AsyncStream<Place>.Continuation

    /// - Parameter endBegins: is called where nobody waits at a place any more, before it is given up. For tests.
    init(
        _ connection: ServerConnection, time: any TimeSource, random: any RandomSource,
        placesMax: Int = RingFollower.placesMax, endBegins: @escaping @Sendable () async -> Void = {}
    ) {
        self.placesMax = placesMax
        self.endBegins = endBegins
        self.connection = connection
        self.time = time
        self.random = random
        let (places, begins) = AsyncStream.makeStream(of: Place.self)
        (self.places, self.begins) = (places, begins)
        changes = Wakeups(sleepBegins: { begins.yield(Place(bell: $0, bucket: $1)) })
    }

    /// How long a waiter may rely on rings before it looks by itself.
    var lookInterval: Duration {
        state.withLock { $0.left.isEmpty ? $0.lookInterval : nil } ?? Self.blindInterval
    }

    /// Asks the server for its word once, without a wait.
    ///
    /// - Parameter limit: how long that may take. It is a call like others, which the server does not leave open.
    /// - Throws: what keeps it from answering.
    func greet(within limit: TimeAmount = ServerConnection.callTime) async throws {
        let answer = try await ask(Place(bell: .log, bucket: 0), after: Heard(), .greeting, within: limit)
        state.withLock { $0.lookInterval = answer.lookInterval }
    }

    /// Follows wherever somebody waits, until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await place in places where begin(place) {
                group.addTask { await self.follow(place) }
            }
            group.cancelAll()
        }
    }

    /// Whether nobody follows there yet, and there is one left for it; from now on somebody does.
    private func begin(_ place: Place) -> Bool {
        state.withLock { state in
            if state.followed.contains(place) { return false }
            guard state.followed.count < placesMax else {
                state.left.insert(place)
                return false
            }
            state.left.remove(place)
            state.followed.insert(place)
            return true
        }
    }

    /// Follows the next place that waits for its turn: a task has followed another one to its end.
    private func goOn() {
        while let place = state.withLock({ $0.left.popFirst() }) {
            guard changes.hasSleepers(at: place.bucket, for: place.bell) else { continue }
            begins.yield(place)
            return
        }
    }

    /// Asks for rings as long as somebody waits for them here.
    private func follow(_ place: Place) async {
        var failures = 0
        repeat {
            while !Task.isCancelled, await isAwaited(place) {
                do {
                    let before = state.withLock { $0.heard[place] ?? Heard() }
                    let answer = try await ask(place, after: before)
                    failures = 0
                    state.withLock { $0.lookInterval = answer.lookInterval }
                    if answer.isRung { await pass(on: answer, at: place) }
                } catch {
                    state.withLock { $0.lookInterval = nil }
                    failures += 1
                    let pause = Self.pauses.delay(afterAttempt: failures, random: random.nextUnit())
                    guard (try? await time.sleep(for: pause)) != nil else { break }
                }
            }
            _ = state.withLock { $0.followed.remove(place) }
            // Somebody may have come between the look and this: whoever puts the place back follows it.
        } while !Task.isCancelled && changes.hasSleepers(at: place.bucket, for: place.bell) && begin(place)
        goOn()
    }

    private func isAwaited(_ place: Place) async -> Bool {
        if changes.hasSleepers(at: place.bucket, for: place.bell) { return true }
        await endBegins()
        return false
    }

    /// Rings here what has rung at the server.
    private func pass(on answer: RingAnswer, at place: Place) async {
        state.withLock { $0.heard[place] = Heard(ring: answer.ring, server: answer.server) }
        guard let change = place.bell.change else { return changes.notices.ring(at: place.bucket) }
        let room = changes.ringAll(at: place.bucket, for: change)
        // The server has woken this client for messages, and nobody else. If nobody takes them here, it has to wake another.
        if change == .work, room == 0 { _ = try? await ask(place, after: Heard(), passingOn: true) }
    }

    private func ask(
        _ place: Place, after heard: Heard, passingOn: Bool = false, _ purpose: RequestPurpose = .reading,
        within limit: TimeAmount = RingFollower.askTime
    ) async throws -> RingAnswer {
        var writer = WireWriter()
        writer(
            RingWait(
                bucket: place.bucket, bell: place.bell, after: heard.ring, server: heard.server,
                room: changes.room(at: place.bucket), passesOn: passingOn))
        let bytes = try await connection.answer(
            to: writer.bytes, at: WireFormat.ringPath, purpose, within: limit)
        do {
            var reader = WireReader(bytes, isFromStore: true)
            let answer: RingAnswer = try reader()
            try reader.end()
            connection.hasOpened(answer.store)
            return answer
        } catch {
            throw ForeignAnswer(status: 200).error(at: connection.url, purpose)
        }
    }
}
