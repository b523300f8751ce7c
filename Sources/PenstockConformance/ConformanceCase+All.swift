extension ConformanceCase {
    /// Every rule.
    public static let all: [ConformanceCase] = [
        EnqueueRules.cases,
        UniqueKeyRules.cases,
        OverflowRules.cases,
        ClaimRules.cases,
        SettleRules.cases,
        SettleListRules.cases,
        PerformRules.cases,
        LeaseRules.cases,
        RecoveryRules.cases,
        QueryRules.cases,
        LogRules.cases,
        CursorRules.cases,
        StatusRules.cases,
        ConfigureRules.cases,
        DeletionRules.cases,
        ApplyRules.cases,
        PruneRules.cases,
        ChangesRules.cases,
        ConcurrencyRules.cases,
        RandomLifeRules.cases,
    ].flatMap(\.self)
}
