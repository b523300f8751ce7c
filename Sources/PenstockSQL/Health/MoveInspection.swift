package import PenstockCore

/// Whether the store is still the one that takes and gives the messages.
package enum MoveInspection {
    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        guard let move = try Departure.read(connection) else { return }
        report.add(.storeMoved, .warning, "\(move.statement); \(move.advice).")
    }
}
