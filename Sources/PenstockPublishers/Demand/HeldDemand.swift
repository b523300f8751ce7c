/// What a subscriber asks for while it is being given its subscription: it is sent nothing before that is over, as it is told one
/// thing at a time (Reactive Streams, rule 1.3).
struct HeldDemand {
    /// Whether the subscriber has its subscription.
    private(set) var isOver = false
    private var demand = Subscribers.Demand.none

    /// Holds what is asked for.
    ///
    /// - Returns: whether it is held; the caller asks for it at once otherwise.
    mutating func hold(_ more: Subscribers.Demand) -> Bool {
        if isOver { return false }
        demand += more
        return true
    }

    /// The subscriber has its subscription.
    ///
    /// - Returns: what it has asked for meanwhile.
    mutating func letGo() -> Subscribers.Demand {
        isOver = true
        return demand
    }
}
