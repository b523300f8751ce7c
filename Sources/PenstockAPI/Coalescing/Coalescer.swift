package import HTTPTypes
import Hummingbird
package import Logging
import NIOCore
package import Penstock
import PenstockCore
import PenstockFormats
package import PenstockHTTP
import Synchronization

/// The requests of one listener that are carried out together, on all its event loops.
package final class Coalescing: Sendable {
    let enqueuing: CoalescedEnqueuing
    let checks: DoorChecks
    let asksForTokens: Bool
    let logger: Logger
    let record: @Sendable (String, HTTPResponse.Status, Duration) -> Void
    let time = SystemTime()
    private let coalescers = Mutex<[ObjectIdentifier: NIOLoopBound<Coalescer>]>([:])

    /// - Parameters:
    ///   - store: where messages go.
    ///   - checks: what each request is asked before.
    ///   - asksForTokens: whether a request has to show a token, which may be taken back at any time.
    ///   - logger: where to say what goes wrong.
    ///   - record: is told of each answer: the path with the names of its parameters, the status, and how long it took.
    package init(
        store: PenstockStore, checks: DoorChecks, asksForTokens: Bool, logger: Logger,
        record: @escaping @Sendable (String, HTTPResponse.Status, Duration) -> Void
    ) {
        enqueuing = CoalescedEnqueuing(store: store, time: time)
        self.checks = checks
        self.asksForTokens = asksForTokens
        self.logger = logger
        self.record = record
    }

    /// The one of the event loop, on which this is called.
    func coalescer(of loop: any EventLoop) -> Coalescer {
        coalescers.withLock { coalescers in
            let id = ObjectIdentifier(loop)
            if let coalescer = coalescers[id] { return coalescer }
            let coalescer = NIOLoopBound(Coalescer(self, loop), eventLoop: loop)
            coalescers[id] = coalescer
            return coalescer
        }.value
    }
}

/// Gathers the requests of one event loop, and carries them out once the loop has read all that there was to read.
final class Coalescer {
    /// Requests in one call, and about so many bytes: a call is to be one short transaction.
    private static let countMax = 1000
    private static let bytesMax = 4 * 1024 * 1024

    private unowned let coalescing: Coalescing
    private let loop: any EventLoop
    private var calls: [(call: CoalescedEnqueuing.Call, body: ByteBuffer)] = []
    private var clients: [CoalescingHandler] = []
    private var bytes = 0
    private var date = (second: Int64.min, text: "")

    init(_ coalescing: Coalescing, _ loop: any EventLoop) {
        self.coalescing = coalescing
        self.loop = loop
    }

    /// Has the call carried out with others, and its client answered.
    func add(_ call: CoalescedEnqueuing.Call, _ body: ByteBuffer, of client: CoalescingHandler) {
        calls.append((call, body))
        clients.append(client)
        bytes += body.readableBytes
        if calls.count == 1 {
            // What the loop is given to do comes after all that it reads in this round.
            loop.assumeIsolated().execute { self.perform() }
        }
        if calls.count >= Self.countMax || bytes >= Self.bytesMax { perform() }
    }

    private func perform() {
        guard !calls.isEmpty else { return }
        let clients = NIOLoopBound(self.clients, eventLoop: loop)
        let this = NIOLoopBound(self, eventLoop: loop)
        Task { [calls, loop, coalescing] in
            let answers = await coalescing.enqueuing.answers(to: calls)
            loop.execute {
                for (client, answer) in zip(clients.value, answers) { this.value.send(answer, to: client) }
            }
        }
        calls = []
        self.clients = []
        bytes = 0
    }

    private func send(_ answer: CoalescedAnswer, to client: CoalescingHandler) {
        let status: HTTPResponse.Status
        var fields = HTTPFields()
        let value: JSONValue
        switch answer {
        case .receipt(let receipt, let queue):
            (status, value) = (receipt.skipped ? .ok : .created, receipt.json(queue: queue))
            fields[.contentType] = "application/json"
        case .failure(let error):
            let problem = ProblemResponses.problem(error, coalescing.logger)
            (status, value) = (problem.status, problem.json)
            problem.describe(in: &fields)
        }
        let body = ByteBuffer(json: value)
        for (name, value) in ProblemResponses.defaults { fields[name] = value }
        fields[.contentLength] = String(body.readableBytes)
        fields[.date] = now
        client.answer(HTTPResponse(status: status, headerFields: fields), body)
    }

    /// The time for the header `Date`, which is the same for all answers of a second.
    private var now: String {
        let now = coalescing.time.now
        let second = now.microseconds / 1_000_000
        if second != date.second { date = (second, TimeText.http(now)) }
        return date.text
    }
}
