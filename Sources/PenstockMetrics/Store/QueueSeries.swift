import PenstockCore
import PenstockFormats

/// The queues that have series of their own, and the sum of the others.
///
/// Each queue makes dozens of series, which a server of Prometheus keeps for weeks. So beyond a number of queues the rest has
/// one name together.
struct QueueSeries {
    /// The name of all queues that have none of their own. A queue that is called so has none.
    static let others = "_other"

    /// One queue, or the sum of several.
    struct Series {
        var labels: Labels
        var depths: Depths
        var totals: Totals
        /// The oldest of all of them.
        var oldestReady: Timestamp?
        var oldestLease: Timestamp?
        var latency: QueueLatency
        /// `nil`: the sum of several.
        var queue: QueueStatus?
    }

    private(set) var series: [Series] = []
    /// How many queues are in the sum.
    let othersCount: Int

    /// - Parameter queues: all of them, by name.
    init(_ queues: [QueueStatus], countMax: Int) {
        let named =
            queues.count <= countMax ? queues : Array(queues.filter { $0.name.text != Self.others }.prefix(countMax))
        othersCount = queues.count - named.count
        series = named.map {
            Series(
                labels: Labels(["queue": $0.name.text]), depths: $0.depths, totals: $0.totals,
                oldestReady: $0.oldestReady,
                oldestLease: $0.oldestLease, latency: $0.latency, queue: $0)
        }
        guard othersCount > 0 else { return }
        let names = Set(named.map(\.name))
        var sum = Series(
            labels: Labels(["queue": Self.others]), depths: Depths(), totals: Totals(), latency: QueueLatency())
        for queue in queues where !names.contains(queue.name) {
            sum.depths.add(queue.depths)
            sum.totals.add(queue.totals)
            sum.oldestReady = [sum.oldestReady, queue.oldestReady].compactMap(\.self).min()
            sum.oldestLease = [sum.oldestLease, queue.oldestLease].compactMap(\.self).min()
            sum.latency.add(queue.latency)
        }
        series.append(sum)
    }
}

extension Depths {
    fileprivate mutating func add(_ other: Depths) {
        for (_, number) in Self.states {
            self[keyPath: number] = self[keyPath: number].addingClamped(other[keyPath: number])
        }
    }
}

extension Totals {
    fileprivate mutating func add(_ other: Totals) {
        for (_, number, _) in Self.events {
            self[keyPath: number] = self[keyPath: number].addingClamped(other[keyPath: number])
        }
    }
}
