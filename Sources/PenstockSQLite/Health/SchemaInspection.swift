import GRDB
import PenstockCore
import PenstockSQL

/// Whether every table, index, view and trigger is there, as the migrations make it.
enum SchemaInspection {
    static func inspect(_ database: Database, _ report: inout HealthReport) throws {
        for fault in try SchemaParts().faults(in: database) {
            report.add(.wrongSchema, .error, sentence(about: fault))
        }
    }

    private static func sentence(about fault: SchemaParts.Fault) -> String {
        let remedy = fault.isMendable ? "`penstock doctor --repair` makes it anew" : "restore the file from a copy"
        let name = "\(fault.kind.rawValue) \(fault.name)"
        return switch fault.wrong {
        case .missing: "The \(name) is missing; \(remedy)."
        case .changed: "The \(name) is not the one that the migrations make; \(remedy)."
        case .columns(let columns):
            "The \(name) has not its columns as the migrations make them (\(columns.joined(separator: ", "))); \(remedy)."
        case .inTheWay(let kind): "The \(name) is missing, and a \(kind) has its name; rename that one."
        }
    }
}
