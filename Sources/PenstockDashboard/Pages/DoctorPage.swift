import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/doctor`: whether the file is sound. It reads every page of it, so it is done when somebody asks for it, and one at a time.
struct DoctorPage {
    func add(to routes: Routes) {
        let turn = Turn()
        routes.get("/doctor") { visit in try await show(visit, turn) }
    }

    private func show(_ visit: Visit, _ turn: Turn) async throws -> Response {
        try visit.principal.require(.read, nil)
        let query = try visit.query(["run"])
        var fields: Fields = ["hasFile": visit.site.path != nil]
        if let path = visit.site.path {
            fields["path"] = path
            if try query.flag("run") {
                let report = try await turn.inspect(path)
                fields["report"] =
                    [
                        "isHealthy": report.isHealthy, "lines": report.lines.map(line),
                    ] as Fields
            }
        }
        return visit.page("doctor", "Doctor", in: .doctor, fields)
    }

    /// A line of the report, its word apart: `ok`, `note`, `warn` or `fail`.
    private func line(_ line: String) -> Fields {
        let word = line.prefix { $0 != " " }
        return [
            "word": String(word), "text": String(line.dropFirst(word.count).drop { $0 == " " }),
            "isBad": word == "fail" || word == "warn",
        ]
    }

    /// Lets one inspection run at a time: those who ask meanwhile wait for its end, and have theirs then.
    private actor Turn {
        private var running: Task<HealthReport, any Error>?

        func inspect(_ path: String) async throws -> HealthReport {
            if let running { return try await running.value }
            let task = Task { try await PenstockStore.inspectHealth(path: path) }
            running = task
            defer { running = nil }
            return try await task.value
        }
    }
}
