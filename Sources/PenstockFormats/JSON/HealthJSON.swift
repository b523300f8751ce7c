package import PenstockCore

extension HealthReport {
    package var json: JSONValue {
        .object([
            "path": .string(path),
            "isHealthy": .bool(isHealthy),
            "schemaVersion": .optional(schemaVersion) { .integer($0) },
            "schemaVersionKnown": .integer(schemaVersionKnown),
            server == nil ? "file" : "server": server?.json ?? file.json,
            "expiredLeases": .integer(expiredLeases),
            "deadWorkers": .array(deadWorkers.map(\.json)),
            "stuckWorkers": .array(stuckWorkers.map(\.json)),
            "findings": .array(findings.map(\.json)),
        ])
    }
}

extension RepairReport {
    package var json: JSONValue {
        .object([
            "path": .string(path),
            "isDryRun": .bool(isDryRun),
            "repairs": .array(
                repairs.map { repair in
                    .object([
                        "kind": .string(repair.kind.rawValue),
                        "count": .integer(repair.count),
                        "message": .string(repair.message),
                    ])
                }),
        ])
    }
}

extension ServerHealth {
    fileprivate var json: JSONValue {
        .object([
            "version": .string(version),
            "isStandby": .bool(isStandby),
            "connectionCount": .integer(connectionCount),
            "connectionsMax": .integer(connectionsMax),
            "clockAhead": .seconds(clockAhead),
            "bytes": .integer(bytes),
        ])
    }
}

extension FileHealth {
    fileprivate var json: JSONValue {
        .object([
            "journalMode": .string(journalMode),
            "givesBackPages": .bool(givesBackPages),
            "pageBytes": .integer(pageBytes),
            "pageCount": .integer(pageCount),
            "freePageCount": .integer(freePageCount),
            "bytes": .integer(bytes),
            "walBytes": .integer(walBytes),
            "walPages": .optional(walPages) { .integer($0) },
            "walPagesCheckpointed": .optional(walPagesCheckpointed) { .integer($0) },
        ])
    }
}

extension HealthFinding {
    fileprivate var json: JSONValue {
        .object([
            "kind": .string(kind.rawValue),
            "severity": .string(severity.rawValue),
            "message": .string(message),
            "queue": .optional(queue) { .string($0.text) },
        ])
    }
}
