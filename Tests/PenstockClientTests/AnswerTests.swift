import NIOCore
import PenstockCore
import PenstockTestKit
import PenstockWire
import Synchronization
import Testing

@testable import PenstockClient

/// What a client makes of answers that are not its server's: a proxy in between may have handed the call on before.
@Suite(.timeLimit(.minutes(5))) struct AnswerTests {
    private let page = Array("<html>of a proxy</html>".utf8)
    private let lease = Lease(sequence: SequenceNumber(rawValue: 1), token: LeaseToken(rawValue: 1))

    @Test(arguments: [200, 302, 404, 429, 500, 502, 503, 504])
    func aPageLeavesOpenWhatWasDone(_ status: Int) async throws {
        let server = try await ScriptedServer.start { [page] _ in
            ScriptedServer.response(status: status, type: "text/html", page)
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let mayPass = status == 429 || status >= 500
        let codes: [(RequestPurpose, PenstockError.Code)] = [
            (.changing, .outcomeUnknown), (.reading, .unreachable), (.greeting, mayPass ? .unreachable : .invalidInput),
        ]
        for (purpose, code) in codes {
            await expect(code) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(30))
            }
        }
        await connection.close()
        try await server.stop()
    }

    /// Another program's problem is as little our server's as its page.
    @Test func onlyOurProblemsAreTheServersWord() async throws {
        let problem = Mutex(#"{"type": "about:blank", "title": "Bad Gateway", "status": 503}"#)
        let server = try await ScriptedServer.start { _ in
            ScriptedServer.response(status: 503, type: "application/problem+json", Array(problem.withLock { $0 }.utf8))
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        func ask() async throws {
            _ = try await connection.answer(to: [1], at: "/v1/store", .changing, within: .seconds(30))
        }
        await expect(.outcomeUnknown) { try await ask() }
        problem.withLock { $0 = #"{"code": "closed", "detail": "It stops."}"# }
        await expect(.unreachable) { try await ask() }
        problem.withLock { $0 = #"{"code": "busy", "detail": "Somebody holds the file."}"# }
        await expect(.busy) { try await ask() }
        await connection.close()
        try await server.stop()
    }

    /// A program's options cannot mend that: what starts it again goes on once both are of one release.
    @Test(arguments: [404, 405, 415]) func aServerOfAnotherReleaseIsToldApart(_ status: Int) async throws {
        let problem = #"{"code": "wrongRelease", "detail": "They are of different releases."}"#
        let server = try await ScriptedServer.start { _ in
            ScriptedServer.response(status: status, type: "application/problem+json", Array(problem.utf8))
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        for purpose in [RequestPurpose.greeting, .reading, .changing] {
            let error = await #expect(throws: PenstockError.self) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(30))
            }
            #expect(error?.code == .wrongRelease && error?.mayPass == false && error?.isOfUnusableStore == true)
        }
        await connection.close()
        try await server.stop()
    }

    /// The server is there, and would answer as much again.
    @Test func anAnswerThatIsTooLargeIsSaidToBe() async throws {
        let requests = Tally()
        let server = try await ScriptedServer.start { _ in
            _ = requests.add()
            return ScriptedServer.head(length: ServerConnection.answerBytesMax + 1)
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        for (purpose, code) in [(.reading, .storage), (.changing, .outcomeUnknown)]
            as [(RequestPurpose, PenstockError.Code)]
        {
            let error = await #expect(throws: PenstockError.self) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(30))
            }
            #expect(error?.code == code && error?.message.contains("which no client takes") == true)
        }
        #expect(requests.count == 2, "It is asked once each.")
        await connection.close()
        try await server.stop()
    }

    /// A store that is away for the server is so for its clients.
    @Test(arguments: [PenstockError.Code.unreachable, .corrupt, .fileReplaced])
    func aProblemsCodeIsTheErrors(_ code: PenstockError.Code) async throws {
        let problem = #"{"code": "\#(code.rawValue)", "detail": "It is so."}"#
        let server = try await ScriptedServer.start { _ in
            ScriptedServer.response(status: 503, type: "application/problem+json", Array(problem.utf8))
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        await expect(code) {
            _ = try await connection.answer(to: [1], at: "/v1/store", .changing, within: .seconds(30))
        }
        await connection.close()
        try await server.stop()
    }

    @Test func whatIsNoReplyLeavesOpenWhatWasDone() async throws {
        let server = try await ScriptedServer.start { request in
            request.path == WireFormat.ringPath ? ScriptedServer.greeting : ScriptedServer.response([1, 2, 3])
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        await expect(.outcomeUnknown) { try await client.setLimit(LimitName(stored: "l"), to: 1) }
        await expect(.unreachable) { _ = try await client.limits() }
        try await client.close()
        try await server.stop()
    }

    /// More answers than operations are no answer, and no reason to end the program.
    @Test func moreAnswersThanOperationsAreNone() async throws {
        var writer = WireWriter()
        writer(
            Timestamp(microseconds: 0),
            RemoteReply<Performed>.answer(Performed(answers: [.settled([]), .settled([]), .settled([])])))
        let reply = ScriptedServer.response(writer.bytes)
        let server = try await ScriptedServer.start { request in
            request.path == WireFormat.ringPath ? ScriptedServer.greeting : reply
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        await expect(.outcomeUnknown) { _ = try await client.perform([.settle([])], flushed: nil) }
        try await client.close()
        try await server.stop()
    }

    /// A head is no answer: the time of a call is over also when the body does not come.
    @Test func aBodyThatDoesNotComeEndsTheCall() async throws {
        let server = try await ScriptedServer.start { _ in ScriptedServer.head(length: 10) + [1] }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        for (purpose, code) in [(RequestPurpose.changing, PenstockError.Code.outcomeUnknown), (.reading, .unreachable)]
        {
            await expect(code) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(3))
            }
        }
        await connection.close()
        try await server.stop()
    }

    /// A connection that falls silent costs no lease: another one extends it, long before a call's time is over.
    @Test func anExtensionWithoutAnAnswerIsAskedForAgain() async throws {
        let asked = Tally()
        var writer = WireWriter()
        writer(Timestamp(microseconds: 0), RemoteReply<[LeaseStanding]>.answer([.held]))
        let reply = ScriptedServer.response(writer.bytes)
        let server = try await ScriptedServer.start { request in
            if request.path == WireFormat.ringPath { return ScriptedServer.greeting }
            return asked.add() == 1 ? [] : reply
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        let begin = ContinuousClock.now
        #expect(try await client.extend([LeaseExtension(lease, by: .seconds(18), keepsLonger: true)]) == [.held])
        #expect(begin.duration(to: .now) < .seconds(18), "The lease has ended meanwhile.")
        #expect(asked.count == 2)
        try await client.close()
        try await server.stop()
    }

    /// An extension that nobody answers is over while there is time for others before the lease ends.
    @Test func anExtensionTakesASixthOfItsShortestLease() {
        func time(_ leases: Duration?...) -> TimeAmount {
            RemoteStore.extensionTime(for: leases.map { LeaseExtension(lease, by: $0, keepsLonger: true) })
        }
        #expect(time(.seconds(18)) == .seconds(3) && time(.seconds(60)) == .seconds(10))
        #expect(time(.seconds(60), .seconds(18)) == .seconds(3) && time(nil, .seconds(18)) == .seconds(3))
        #expect(time(.seconds(1)) == .milliseconds(500))
        #expect(time(.seconds(3600)) == ServerConnection.callTime && time(nil) == ServerConnection.callTime)
    }

    /// One that may shorten a lease would do so late, when it comes again: somebody may have made the lease longer meanwhile.
    @Test func anExtensionThatMayShortenIsAskedForOnce() async throws {
        let asked = Tally()
        let server = try await ScriptedServer.start { [page] request in
            if request.path == WireFormat.ringPath { return ScriptedServer.greeting }
            asked.add()
            return ScriptedServer.response(status: 502, type: "text/html", page)
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        let keeping = LeaseExtension(lease, by: .seconds(18), keepsLonger: true)
        await expect(.outcomeUnknown) { _ = try await client.extend([keeping]) }
        #expect(asked.count == 2)
        let shortening = LeaseExtension(lease, by: .seconds(18))
        for (count, extensions) in [[shortening], [keeping, shortening]].enumerated() {
            await expect(.outcomeUnknown) { _ = try await client.extend(extensions) }
            #expect(asked.count == 3 + count)
        }
        try await client.close()
        try await server.stop()
    }

    /// All connections that are kept may have fallen silent, as when somebody in between has forgotten them.
    @Test func anExtensionIsAskedForAgainOnANewConnection() async throws {
        let known = Mutex<Set<Int>>([])
        var writer = WireWriter()
        writer(Timestamp(microseconds: 0), RemoteReply<[LeaseStanding]>.answer([.held]))
        let reply = ScriptedServer.response(writer.bytes)
        let isSilent = Atomic(false)
        let server = try await ScriptedServer.start { request in
            if request.path == WireFormat.ringPath { return ScriptedServer.greeting }
            let isKnown = known.withLock { known in
                if !isSilent.load(ordering: .relaxed) { known.insert(request.connection) }
                return known.contains(request.connection)
            }
            return isSilent.load(ordering: .relaxed) && isKnown ? [] : reply
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        // Calls that meet need several connections, which are kept.
        while known.withLock({ $0.count }) < 2 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...20 { group.addTask { _ = try await client.extend([LeaseExtension(lease)]) } }
                try await group.waitForAll()
            }
        }
        isSilent.store(true, ordering: .relaxed)
        for _ in 1...3 {
            let begin = ContinuousClock.now
            #expect(try await client.extend([LeaseExtension(lease, by: .seconds(18), keepsLonger: true)]) == [.held])
            #expect(begin.duration(to: .now) < .seconds(18), "The lease has ended meanwhile.")
        }
        try await client.close()
        try await server.stop()
    }

    /// Waits for rings, which stay open, keep no call from its connection.
    @Test func callsDoNotWaitBehindRings() async throws {
        let (rings, reply) = (Tally(), ScriptedServer.response([1]))
        let server = try await ScriptedServer.start { request in
            guard request.path == WireFormat.ringPath else { return reply }
            rings.add()
            return []
        }
        let connection = try ServerConnection(try ServerURL(server.url), token: nil, connectionCountMax: 1)
        let ring = Task {
            _ = try await connection.answer(
                to: [1], at: WireFormat.ringPath, .reading, within: .seconds(600))
        }
        try await rings.wait(for: 1)
        let answer = try await connection.answer(
            to: [1], at: WireFormat.callPath, .changing, within: .seconds(600))
        #expect(answer == [1])
        ring.cancel()
        _ = try? await ring.value
        await connection.close()
        try await server.stop()
    }

    /// Where no TLS is spoken, or none that the client trusts, nothing was sent.
    @Test func withoutTLSNothingIsDone() async throws {
        let server = try await ScriptedServer.start { _ in [] }
        let connection = try ServerConnection(try ServerURL("https://127.0.0.1:\(server.port)"), token: nil)
        for purpose in [RequestPurpose.changing, .reading] {
            await expect(.unreachable) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(30))
            }
        }
        await connection.close()
        try await server.stop()
    }

    @Test func aTokenIsOnOneLineAndIsNeverTold() async throws {
        for token in ["secret-of-the-mill\n", "secret\r\nX-Other: 1", "secret\u{7F}"] {
            await #expect {
                _ = try await RemoteStore.open("http://127.0.0.1:1", token: token, worker: nil)
            } throws: { error in
                let error = error as? PenstockError
                return error?.code == .invalidInput && error?.cause == nil && error?.message.contains("secret") == false
            }
        }
    }
}
