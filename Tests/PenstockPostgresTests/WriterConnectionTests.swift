import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// The connection of a process's writer, as it is lost or left, and made again.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct WriterConnectionTests {
    private let schema: ClosedSchema
    private let connection: WriterConnection
    private let connected = Tally()
    private var address: ServerAddress { schema.address }

    init() async throws {
        schema = try await ClosedSchema()
        let sessions = Sessions(schema.address, busyMax: .seconds(60))
        connection = WriterConnection(sessions) { [connected] in connected.add() }
    }

    private func made() throws -> WriterSession { try connection.connected(until: .now + .seconds(60)) }

    /// What a writer keeps in memory of queues and their policies is of the server before.
    @Test func aServerThatWasLeftIsWrittenToNoMore() throws {
        let first = try made().server.processID
        let same = try made().server.processID
        #expect(same == first && connected.count == 1)
        address.known.note(table: 1)
        let second = try made().server.processID
        #expect(second != first && connected.count == 2)
        address.known.note(table: 1)
        // Also by a look that answers without a transaction.
        connection.leaveSuperseded()
        #expect(connection.session == nil)
        connection.end()
    }

    /// Rows of connections that are lost as well.
    @Test func anEndRemovesTheRowsOfItsProcess() throws {
        for number in Int64(1)...3 {
            var session = try made()
            let mark = session.nextMark(number)
            try mark.write(session.connection)
            connection.keep(session)
            if number < 3 { connection.disconnect() }
        }
        #expect(try schema.server.run("SELECT FROM penstock_writer").rowCount == 3)
        connection.end()
        #expect(try schema.server.run("SELECT FROM penstock_writer").rowCount == 0)
    }
}
