extension ConformanceCase {
    /// Every rule.
    public static let all: [ConformanceCase] = [
        rules(of: "enqueue", EnqueueRules.cases),
        rules(of: "unique keys", UniqueKeyRules.cases),
        rules(of: "overflow", OverflowRules.cases),
        rules(of: "claim", ClaimRules.cases),
        rules(of: "settle", SettleRules.cases),
        SettleListRules.cases,
        PerformRules.cases,
        rules(of: "lease", LeaseRules.cases),
        rules(of: "recovery", RecoveryRules.cases),
        rules(of: "messages", QueryRules.cases),
        LogRules.cases,
        rules(of: "cursor", CursorRules.cases),
        rules(of: "status", StatusRules.cases),
        rules(of: "configure", ConfigureRules.cases),
        rules(of: "deletion", DeletionRules.cases),
        rules(of: "apply", ApplyRules.cases),
        rules(of: "prune", PruneRules.cases),
        rules(of: "changes", ChangesRules.cases),
        rules(of: "concurrency", ConcurrencyRules.cases),
        RandomLifeRules.cases,
    ].flatMap(\.self)
}
