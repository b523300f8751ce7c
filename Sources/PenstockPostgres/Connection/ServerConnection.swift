import CPenstockPostgres
import Foundation
import PenstockCore

/// A connection to a PostgreSQL server, by libpq. Its calls block, and it belongs to one thread at a time.
///
/// No call blocks for ever: a server that is stopped, or hangs, keeps its connections and says nothing, and nothing but the time tells.
final class ServerConnection {
    let connection: OpaquePointer
    /// What was sent ahead of its answers.
    var pipeline = Pipeline()
    private let warnings = Warnings()
    /// How long the server may take for an answer.
    private let silenceMax: Duration
    let address: ServerAddress
    /// The servers that may be promoted while this one says nothing.
    private var others: [ServerAddress.Host] = []
    /// When an answer must have come, if that is sooner or later than ``silenceMax`` says.
    var deadline: ContinuousClock.Instant?
    /// Whether an answer did not come in time. One that comes after all must not be taken for the next one's.
    private(set) var isAbandoned = false

    /// The timeline of the server's log, once it was read; `nil`: it is a standby, or does not say.
    var timeline: Int64?

    /// The number of the store's table when this connection took the locks that stand for it; `nil`: it has none.
    var table: Int64?

    /// Connects.
    ///
    /// - Throws: ``ServerError``, without the password.
    convenience init(_ address: ServerAddress, silenceMax: Duration = .seconds(30)) throws {
        let start = ContinuousClock.now
        let connection = try Self.connect(address)
        self.init(connection, address, silenceMax: silenceMax)
        if PQstatus(connection) != CONNECTION_OK {
            let refusal = Self.refusal(connection, after: .now - start)
            // What is thrown here ends the object, which lets go of the connection.
            guard PQstatus(connection) == CONNECTION_OK else { throw refusal }
        }
        PQsetnonblocking(connection, 1)
        if address.mustBeWritable { others = address.hosts.filter { !$0.isServer(of: connection) } }
    }

    /// Takes a connection over that libpq has made, or has tried to make.
    init(_ connection: OpaquePointer, _ address: ServerAddress, silenceMax: Duration) {
        self.connection = connection
        self.silenceMax = silenceMax
        self.address = address
        // A server that takes nothing in must not hold the thread either.
        PQsetnonblocking(connection, 1)
        // The object lives as long as the connection does.
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let text = PQresultErrorField(result, ServerConnection.primaryMessage) else {
                    return
                }
                Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue().last = String(cString: text)
            }, Unmanaged.passUnretained(warnings).toOpaque())
    }

    deinit { PQfinish(connection) }

    /// - Returns: a connection, or one that has failed.
    private static func connect(_ address: ServerAddress) throws -> OpaquePointer {
        if address.hosts.count > 1 {
            var dialing = Dialing(address, address.hostsInTurn)
            let start = ContinuousClock.now
            switch dialing.connect(within: address.connectMax) {
            case .connected(let connection):
                address.note(connection)
                return connection
            case .refused(let refusal):
                address.known.forgetRefusals()
                // Where all have said something at once, libpq tells why.
                if .now - start > .seconds(1) { throw ServerError(message: refusal, isLost: true) }
            }
        }
        guard let connection = address.withParameters({ PQconnectdbParams($0, $1, 1) }) else {
            throw ServerError(message: "There is no memory for a connection.", isLost: true)
        }
        return connection
    }

    /// Why there is no connection.
    ///
    /// libpq has the letters of the server's error only in the long form of its message, which it writes when it is told so before. So
    /// it connects once more, unless that would wait for a server that does not answer. The second try may also connect.
    private static func refusal(_ connection: OpaquePointer, after duration: Duration) -> ServerError {
        var error = ServerError(message: firstLine(String(cString: PQerrorMessage(connection))), isLost: true)
        if PQconnectionNeedsPassword(connection) != 0 {
            error.state = "28P01"
        } else if duration < .seconds(1) {
            PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
            PQreset(connection)
            PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
            let message = String(cString: PQerrorMessage(connection))
            // FATAL:  28P01: password authentication failed. The first word is in the server's language, and may be as long.
            error.state = message.firstMatch(of: #/: {2}([0-9A-Z]{5}): /#).map { String($0.output.1) }
        }
        return error
    }

    /// The descriptor to wait on, unless ``hasUnread``.
    var socket: Int32 { PQsocket(connection) }
    /// Whether there is something to read without a wait.
    var hasUnread: Bool { UnreadTLS.isThere(for: connection) }
    var serverVersion: Int { Int(PQserverVersion(connection)) }
    var processID: Int32 { PQbackendPID(connection) }
    var isLost: Bool { isAbandoned || PQstatus(connection) != CONNECTION_OK }
    var isInTransaction: Bool {
        // While statements are sent ahead libpq says no more than that it is at work.
        if pipeline.isOpen { return true }
        let status = PQtransactionStatus(connection)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// What the server has warned of since this was asked last.
    func takeWarning() -> String? {
        defer { warnings.last = nil }
        return warnings.last
    }

    private final class Warnings {
        var last: String?
    }

    /// The value of one of the settings that the server reports by itself, such as `in_hot_standby`.
    func reported(_ setting: String) -> String? {
        PQparameterStatus(connection, setting).map { String(cString: $0) }
    }

    /// Runs statements without parameters.
    ///
    /// - Returns: the last one's answer.
    @discardableResult
    func run(_ sql: String) throws -> ServerResult {
        try endPipeline()
        return try answer(PQsendQuery(connection, sql))
    }

    func prepare(_ name: String, _ sql: String, types: [Oid]) throws {
        let isSent = PQsendPrepare(connection, name, sql, Int32(types.count), types)
        guard pipeline.isOpen else {
            try answer(isSent)
            return
        }
        try sentAhead(isSent)
        // Read at once: a statement that was not prepared, as one before it has failed, must not be taken for prepared.
        try readPipeline()
    }

    /// Runs a statement that was prepared, with values in the server's binary form.
    func run(prepared name: String, _ parameters: [[UInt8]?]) throws -> ServerResult {
        let isSent = submit(name, parameters)
        guard pipeline.isOpen else { return try answer(isSent) }
        try sentAhead(isSent)
        return try readPipeline()
    }

    /// Hands a statement with its values to libpq.
    func submit(_ name: String, _ parameters: [[UInt8]?]) -> Int32 {
        let formats = [Int32](repeating: 1, count: parameters.count)
        return Self.withPointers(to: parameters) { values, lengths in
            PQsendQueryPrepared(connection, name, Int32(parameters.count), values, lengths, formats, 1)
        }
    }

    /// Calls `body` with values as libpq takes them: where each begins, NULL without one, and how many bytes it has.
    static func withPointers(
        to parameters: [[UInt8]?], _ body: ([UnsafePointer<CChar>?], [Int32]) -> Int32
    ) -> Int32 {
        // All values lie one after the other, so that their addresses hold for the length of the call. A text ends with a zero.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parameters.reduce(0) { $0 + ($1?.count ?? 0) + 1 })
        for case let parameter? in parameters {
            bytes += parameter
            bytes.append(0)
        }
        return bytes.withUnsafeBytes { all in
            var offset = 0
            var values = [UnsafePointer<CChar>?](repeating: nil, count: parameters.count)
            var lengths = [Int32](repeating: 0, count: parameters.count)
            for case (let index, let parameter?) in parameters.enumerated() {
                values[index] = all.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
                lengths[index] = Int32(parameter.count)
                offset += parameter.count + 1
            }
            return body(values, lengths)
        }
    }

    /// The notifications that have come.
    ///
    /// - Parameter reads: whether to look for more than what has come with answers.
    func notifications(reads: Bool) -> [(payload: String, isOwn: Bool)] {
        if reads { PQconsumeInput(connection) }
        var found: [(String, Bool)] = []
        while let notify = PQnotifies(connection) {
            defer { PQfreemem(notify) }
            found.append((String(cString: notify.pointee.extra), notify.pointee.be_pid == PQbackendPID(connection)))
        }
        return found
    }

    /// Waits for the answer to what was sent: the last of its results, or the one that says what went wrong.
    @discardableResult
    func answer(_ isSent: Int32) throws -> ServerResult {
        if isAbandoned { throw Self.silence }
        guard isSent == 1 else { throw ServerError(message: lastMessage, isLost: true) }
        let end = deadline ?? .now + silenceMax
        var last: ServerResult?
        var failure: ServerError?
        while true {
            try wait(until: end)
            guard let result = PQgetResult(connection) else { break }
            let answer = ServerResult(result)
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: last = answer
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                // libpq says so again and again, and neither side goes on.
                isAbandoned = true
                throw Self.copying
            default: failure = failure ?? error(result)
            }
        }
        if var failure {
            failure.isLost = failure.isLost || isLost
            throw failure
        }
        guard let last else { throw ServerError(message: lastMessage, isLost: true) }
        return last
    }

    private func error(_ result: OpaquePointer) -> ServerError {
        let state = PQresultErrorField(result, Self.sqlState).map { String(cString: $0) }
        if state == ServerError.readOnlyTransaction { address.avoid(connection) }
        let primary = PQresultErrorField(result, Self.primaryMessage).map { String(cString: $0) }
        return ServerError(
            state: state, message: primary ?? Self.firstLine(String(cString: PQresultErrorMessage(result))),
            isLost: ServerError.endsSession(state))
    }

    /// Sends what is to be sent, and returns when libpq has a result or knows that none will come.
    private func wait(until end: ContinuousClock.Instant) throws {
        var look = ContinuousClock.now + Self.lookEvery
        while true {
            let unsent = PQflush(connection)
            if unsent < 0 || (unsent == 0 && PQisBusy(connection) == 0) || PQsocket(connection) < 0 { return }
            let left = (end - .now).wholeMicroseconds
            guard left > 0 else {
                isAbandoned = true
                throw Self.silence
            }
            if hasUnread {
                if PQconsumeInput(connection) == 0 { return }
                continue
            }
            let events = POLLIN | (unsent == 0 ? 0 : POLLOUT)
            var watched = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
            let pause = others.isEmpty ? left : min(left, max(0, (look - .now).wholeMicroseconds))
            poll(&watched, 1, Int32(clamping: pause / 1000 + 1))
            if watched.revents != 0 {
                if PQconsumeInput(connection) == 0 { return }
            } else if !others.isEmpty, look <= .now {
                try refuseIfReplaced()
                look = .now + Self.lookEvery
            }
        }
    }

    /// A primary that is frozen or cut off says nothing, and its callers need not wait for it once another one is there.
    private func refuseIfReplaced() throws {
        guard findsLater(among: others) else { return }
        isAbandoned = true
        throw ServerError(message: "the server does not answer, and another one was promoted", isLost: true)
    }

    /// How long an answer may take before somebody looks whether another server was promoted.
    private static let lookEvery = Duration.milliseconds(500)

    private static let silence = ServerError(message: "the server does not answer", isLost: true)
    private static let copying = PenstockError(
        .invalidInput, "COPY from or to the client cannot be run here; INSERT the rows, or SELECT them.")
    var lastMessage: String { Self.firstLine(String(cString: PQerrorMessage(connection))) }

    static func firstLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? "there was no answer"
    }

    // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY, macros of characters that Swift does not see as such.
    private static let sqlState = Int32(UInt8(ascii: "C"))
    private static let primaryMessage = Int32(UInt8(ascii: "M"))
}
