/// What a repair of a store's file did, or would do.
public struct RepairReport: Hashable, Sendable, Codable {
    /// The file's path.
    public var path: String
    /// Whether nothing was changed: the repairs are what would be done.
    public var isDryRun: Bool
    /// What was done, in order. Empty when there was nothing to repair.
    public var repairs: [Repair]

    /// Makes a report.
    package init(path: String, isDryRun: Bool, repairs: [Repair] = []) {
        self.path = path
        self.isDryRun = isDryRun
        self.repairs = repairs
    }
}

/// One kind of thing that a repair did.
public struct Repair: Hashable, Sendable, Codable {
    /// The finding that it is for.
    public var kind: HealthFinding.Kind
    /// How many rows it was done to.
    public var count: Int
    /// One sentence for people: what was done.
    public var message: String

    /// Makes a repair.
    package init(_ kind: HealthFinding.Kind, _ count: Int, _ message: String) {
        self.kind = kind
        self.count = count
        self.message = message
    }
}
