/// How many requests of a connection have come and are not answered.
struct UnansweredRequests {
    private(set) var count = 0

    mutating func came() { count += 1 }

    /// What is no request at all is answered as well.
    mutating func answered() { count = max(0, count - 1) }
}
