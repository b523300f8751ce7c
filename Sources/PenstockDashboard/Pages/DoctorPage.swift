import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/doctor`: whether the file, or the database and its server, are sound. Of a file it reads every page, so it is done when a form of
/// this page asks for it, and one at a time: an address alone could be opened by the page of any other site.
struct DoctorPage {
    func add(to routes: Routes) {
        let turn = Turn()
        routes.get("/doctor") { visit in
            _ = try visit.query([])
            return try await show(visit) { _ in nil }
        }
        routes.post("/doctor") { visit in
            _ = try await visit.form([])
            return try await show(visit) { try await turn.inspect($0) }
        }
    }

    private func show(
        _ visit: Visit, _ inspect: (HealthSource) async throws -> HealthReport?
    ) async throws -> Response {
        try visit.principal.require(.read, nil)
        var fields: Fields = [:]
        if let health = visit.site.health {
            fields["place"] = health.place
            fields["isFile"] = health.isFile
            if let report = try await inspect(health) {
                fields["report"] = ["isHealthy": report.isHealthy, "lines": report.lines.map(line)] as Fields
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

        func inspect(_ source: HealthSource) async throws -> HealthReport {
            if let running { return try await running.value }
            let task = Task { try await source.inspect() }
            running = task
            defer { running = nil }
            return try await task.value
        }
    }
}
