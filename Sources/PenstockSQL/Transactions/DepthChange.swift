import PenstockCore

/// By how much a transaction changes a queue's depths and totals.
struct DepthChange: Equatable {
    var pending: Int64 = 0
    var scheduled: Int64 = 0
    var blocked: Int64 = 0
    var ready: Int64 = 0
    /// Whether ``ready`` is how many there are, and not by how many there are more.
    var isReadyKnown = false
    var leased: Int64 = 0
    var dead: Int64 = 0
    var kept: Int64 = 0
    var enqueuedTotal: Int64 = 0
    var doneTotal: Int64 = 0
    var deadTotal: Int64 = 0
    var droppedTotal: Int64 = 0
    var cancelledTotal: Int64 = 0
    var retriedTotal: Int64 = 0
    var reclaimedTotal: Int64 = 0
    /// Where the line of ready messages begins.
    var lineStart = LineStart()
    /// What is added to the latencies.
    var latency = QueueLatency()

    /// Notes how many messages are ready. So a depth that was wrong is right again whenever a queue runs empty.
    mutating func readyIs(_ count: Int) {
        ready = Int64(count)
        isReadyKnown = true
    }

    /// Counts `count` messages more, or fewer, in `state`.
    mutating func count(_ state: MessageState, _ count: Int64) {
        switch state {
        case .pending: pending += count
        case .scheduled: scheduled += count
        case .blocked: blocked += count
        case .ready: ready += count
        case .leased: leased += count
        case .dead: dead += count
        case .done, .dropped, .cancelled: kept += count
        }
    }

    /// Counts `count` messages that have come to their end.
    mutating func countEnd(_ state: MessageState, _ count: Int64 = 1) {
        switch state {
        case .done: doneTotal += count
        case .dead: deadTotal += count
        case .dropped: droppedTotal += count
        case .cancelled: cancelledTotal += count
        case .pending, .scheduled, .blocked, .ready, .leased: break
        }
    }
}
