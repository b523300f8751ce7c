import PenstockCore
import PenstockSQL

extension WriterAccess.Engine {
    /// Processes of one machine at a server: the server's lock decides what becomes of a request, and the local one spares it transactions.
    static func server(
        _ connection: WriterConnection, _ answers: HostAnswers, _ writer: GroupWriter, lockWaitMax: Duration
    ) -> WriterAccess.Engine {
        WriterAccess.Engine(
            busyMax: connection.sessions.busyMax, sharesTransactions: true, lockWaitMax: lockWaitMax,
            timings: connection.sessions.timings, requireStill: {},
            // A process may still write to a server that was given up for another one.
            readTold: { connection.session?.life.answer(in: $0) },
            readAnswer: { request in
                guard let session = connection.session else { return nil }
                session.server.deadline = .now + WriterSession.grace
                defer { if session.server.isLost { connection.disconnect() } }
                return try answers.find(slot: request.slot, ticket: request.ticket, session.connection)
            },
            decideAnswer: { request in
                let found = connection.ask(until: writer.firstDeadline ?? .now) {
                    try answers.find(slot: request.slot, ticket: request.ticket, $0)
                }
                guard let found else { throw ServerError(message: "the server does not answer", isLost: true) }
                return found
            })
    }
}
