import PenstockCore
import PenstockTestKit
import Testing

/// Workers that claim through a process, and are none.
enum RemoteWorkerRules {
    static let cases: ConformanceCase.Rules = [
        "holds its messages when the process is gone that it claimed through": outlivesTheProcess,
        "another process settles, extends and cancels for it": anotherProcessSpeaks,
        "its messages are back when their leases end, and not before": leasesEnd,
        "after a reboot its leases go on by the wall clock": reboot,
        "after a reboot with a wrong wall clock no lease lasts longer than any may": rebootWithAWrongClock,
        "is listed while it holds something, and for a minute": isListed,
        "is alive while a lease of it lasts, and for a minute, whoever looks": isAlive,
        "is alive while it asks for messages, also when there are none": asks,
        "is not alive that asked last before the wall clock was set back": clockIsSetBack,
        "one of that name is one worker, and another name another": names,
    ]

    static func outlivesTheProcess(_ bench: Bench) async throws {
        let witness = try await bench.open(.steady())
        try await witness.put((1...4).map { .text("\($0)") })
        for leavesInGoodOrder in [true, false] {
            let server = try await bench.open()
            let held = try await server.take(for: .phone)
            let own = try await server.takeOne()
            if leavesInGoodOrder { try await server.close() } else { try await bench.crash(server) }
            let reclaimed = try await witness.reclaim()
            #expect(reclaimed == Reclaimed(fromDeadWorkers: leavesInGoodOrder ? 0 : 1))
            #expect(try await witness.state(of: own.sequence) == .ready)
            #expect(try await witness.state(of: held.sequence) == .leased)
            #expect(try await witness.give(.done, for: held) == .settled(.done))
        }
        #expect(try await witness.depths() == .of(ready: 2, kept: 2))
    }

    static func anotherProcessSpeaks(_ bench: Bench) async throws {
        let (first, second) = try await bench.openTwo(.steady())
        try await first.put((1...2).map { .text("\($0)") })
        let message = try await first.take(for: .phone, lease: .seconds(10))
        bench.time.advance(by: .seconds(9))
        #expect(try await second.extend([message.lease], by: .seconds(10)) == [true])
        bench.time.advance(by: .seconds(9))
        #expect(try await first.reclaim() == Reclaimed())
        #expect(try await second.apply(.requestCancel(within: .seconds(5)), to: .sequences([message.sequence])) == 1)
        #expect(try await first.extend([LeaseExtension(message.lease)]) == [.cancelRequested])
        #expect(try await second.give(.retry(error: "asked to"), for: message) == .settled(.cancelled))
        let last = try await first.take(for: .phone)
        #expect(try await second.give(.release, for: last) == .settled(.ready))
    }

    static func leasesEnd(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        let sequence = try await server.put("it")
        let message = try await server.take(for: .phone, lease: .seconds(10))
        #expect(try await server.reclaim() == Reclaimed())
        bench.time.advance(by: .seconds(10) - .microseconds(1))
        #expect(try await server.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await server.reclaim() == Reclaimed(fromExpiredLeases: 1))
        let attempts = try await server.record(sequence).attempts
        #expect(attempts.map(\.outcome) == [.leaseExpired])
        #expect(attempts.map(\.worker) == ["phone"])
        #expect(try await server.give(.done, for: message) == .leaseLost)
    }

    static func reboot(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put((1...3).map { .text("\($0)") })
        let messages = [
            try await server.take(for: .phone, lease: .seconds(60)),
            try await server.take(for: .phone, lease: .seconds(600)),
            try await server.take(for: .phone, lease: .seconds(600)),
        ]
        #expect(
            try await server.apply(.requestCancel(within: .seconds(100)), to: .sequences([messages[2].sequence])) == 1)
        try await bench.crash(server)
        bench.time.reboot(after: .seconds(30))

        let next = try await bench.open()
        #expect(try await next.status(of: nil).workers.map(\.isAlive) == [true])
        #expect(try await next.extend([messages[1].lease], by: .seconds(40)) == [true])
        #expect(try await next.reclaim() == Reclaimed())
        bench.time.advance(by: .seconds(30) - .microseconds(1))
        #expect(try await next.reclaim() == Reclaimed())
        bench.time.advance(by: .microseconds(1))
        #expect(try await next.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await next.state(of: messages[0].sequence) == .ready)
        bench.time.advance(by: .seconds(10))
        #expect(try await next.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await next.state(of: messages[1].sequence) == .ready)
        bench.time.advance(by: .seconds(30))
        #expect(try await next.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await next.state(of: messages[2].sequence) == .cancelled)
    }

    /// The machine has no battery for its clock, and learns what time it is after it was started.
    static func rebootWithAWrongClock(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put("it")
        _ = try await server.take(for: .phone, lease: .seconds(60))
        try await bench.crash(server)
        let right = bench.time.now
        bench.time.reboot(after: .seconds(30))
        bench.time.set(wall: right - .seconds(40 * 365 * 86_400))

        let next = try await bench.open()
        #expect(try await next.reclaim() == Reclaimed())
        bench.time.set(wall: right + .seconds(60))
        bench.time.advance(by: Limits.leaseRange.upperBound)
        #expect(try await next.reclaim() == Reclaimed(fromExpiredLeases: 1))
    }

    static func isListed(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put("it")
        let started = bench.time.now
        let message = try await server.take(for: .phone, lease: .seconds(600))
        let worker = try #require(try await server.status(of: nil).workers.first)
        #expect(try await server.status(of: nil).workers.count == 1, "The process itself has claimed nothing.")
        #expect(worker.name == "phone")
        #expect(worker.processID == nil)
        #expect(worker.isAlive == true)
        #expect(worker.leased == 1)
        #expect(worker.startedAt == started)
        bench.time.advance(by: .seconds(61))
        _ = try await server.reclaim()
        #expect(try await server.status(of: nil).workers.map(\.leased) == [1], "It holds something.")
        #expect(try await server.give(.done, for: message) == .settled(.done))
        try await server.put("another")
        _ = try await server.give(.done, for: server.take(for: .phone))
        bench.time.advance(by: .seconds(60) - .microseconds(1))
        _ = try await server.reclaim()
        #expect(try await server.status(of: nil).workers.map(\.leased) == [0])
        bench.time.advance(by: .microseconds(1))
        _ = try await server.reclaim()
        #expect(try await server.status(of: nil).workers.isEmpty)
    }

    static func isAlive(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put((1...3).map { .text("\($0)") })
        func standing() async throws -> [Bool?] { try await server.status(of: nil).workers.map(\.isAlive) }
        let first = try await server.take(for: .phone, lease: .seconds(600))
        bench.time.advance(by: .seconds(600) - .microseconds(1))
        #expect(try await standing() == [true])
        #expect(try await server.waitReason(of: first.sequence).holder?.isAlive == true)
        // Nobody reclaims, and all the same it is dead.
        bench.time.advance(by: .microseconds(1))
        #expect(try await standing() == [false])
        #expect(try await server.waitReason(of: first.sequence).holder?.isAlive == false)
        #expect(try await server.reclaim() == Reclaimed(fromExpiredLeases: 1))

        let second = try await server.take(for: .phone)
        _ = try await server.give(.done, for: second)
        bench.time.advance(by: .seconds(60) - .microseconds(1))
        #expect(try await standing() == [true])
        bench.time.advance(by: .microseconds(1))
        #expect(try await standing() == [false])
        let ready = try #require(try await server.messages(MessageQuery(queue: .jobs, states: [.ready])).first)
        #expect(try await server.waitReason(of: ready.sequence).causes.contains(.noWorker))
    }

    static func asks(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put("it")
        _ = try await server.give(.done, for: server.take(for: .phone))
        func ask(_ worker: WorkerName) async throws {
            let claim = try await server.claim(
                ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30), remoteWorker: worker))
            #expect(claim.messages.isEmpty)
        }
        func standing() async throws -> [Bool?] { try await server.status(of: nil).workers.map(\.isAlive) }
        for round in 1...4 {
            if round == 3 { try await server.configure(.jobs, .pause) }
            bench.time.advance(by: .seconds(30))
            try await ask(.phone)
            try await ask(WorkerName("has got nothing yet"))
            _ = try await server.reclaim()
            #expect(try await standing() == [true])
        }
        bench.time.advance(by: .seconds(60))
        #expect(try await standing() == [false])
        _ = try await server.reclaim()
        #expect(try await standing() == [])
    }

    static func clockIsSetBack(_ bench: Bench) async throws {
        let server = try await bench.open(.steady())
        try await server.put((1...2).map { .text("\($0)") })
        func standing() async throws -> [Bool?] { try await server.status(of: nil).workers.map(\.isAlive) }
        let right = bench.time.now
        bench.time.set(wall: right + .seconds(3600))
        _ = try await server.give(.done, for: server.take(for: .phone))
        #expect(try await standing() == [true])
        bench.time.set(wall: right)
        #expect(try await standing() == [false])
        _ = try await server.give(.done, for: server.take(for: .phone))
        #expect(try await standing() == [true])
    }

    static func names(_ bench: Bench) async throws {
        let (server, other) = try await bench.openTwo(.steady())
        try await server.put((1...4).map { .text("\($0)") })
        _ = try await server.take(for: .phone)
        _ = try await other.take(for: .phone)
        _ = try await other.take(for: WorkerName("Phone"))
        _ = try await other.takeOne()
        let workers = try await server.status(of: nil).workers
        #expect(workers.filter { $0.processID == nil }.map(\.name) == ["phone", "Phone"])
        #expect(workers.filter { $0.processID == nil }.map(\.leased) == [2, 1])
        #expect(workers.filter { $0.processID != nil }.map(\.leased) == [1])
        for wrong in ["", " x", "a\nb", String(repeating: "x", count: Limits.workerNameBytesMax + 1)] {
            await expect(.invalidInput) { try WorkerName(wrong) }
        }
    }
}

extension WorkerName {
    fileprivate static let phone = WorkerName(stored: "phone")
}

extension MessageStore {
    /// Claims one message for a remote worker, which must be there.
    fileprivate func take(
        for worker: WorkerName, lease: Duration = .seconds(30), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ClaimedMessage {
        let claim = try await claim(ClaimRequest(queue: .jobs, limit: 1, lease: lease, remoteWorker: worker))
        return try #require(claim.messages.first, "No message was ready.", sourceLocation: sourceLocation)
    }
}
