import Penstock
import PenstockFormats

/// Tables of queues and workers, for people.
enum QueueTables {
    static func status(_ queues: [QueueStatus], now: Timestamp) -> Table {
        func age(_ moment: Timestamp?) -> String { moment.map { DurationText.short(max(now - $0, .zero)) } ?? "" }
        var table = Table([
            .text("QUEUE", widthMax: 40), .text("STATE"), .number("CAPACITY"), .number("PENDING"), .number("SCHEDULED"),
            .number("BLOCKED"), .number("READY"), .number("FOR"), .number("LEASED"), .number("FOR"), .number("DEAD"),
            .number("ENQUEUED"),
            .number("DONE"),
            .number("DROPPED"),
            .number("RETRIED"), .number("RECLAIMED"),
        ])
        for queue in queues {
            table.add([
                Escape.text(queue.name.text), state(queue),
                queue.policy.capacity.map { "\($0.count)" } ?? "none", "\(queue.depths.pending)",
                "\(queue.depths.scheduled)", "\(queue.depths.blocked)", "\(queue.depths.ready)",
                age(queue.oldestReady), "\(queue.depths.leased)", age(queue.oldestLease),
                "\(queue.depths.dead)",
                "\(queue.totals.enqueued)",
                "\(queue.totals.done)", "\(queue.totals.dropped)", "\(queue.totals.retried)",
                "\(queue.totals.reclaimed)",
            ])
        }
        return table
    }

    static func workers(_ workers: [WorkerRecord], now: Timestamp) -> Table {
        var table = Table([
            .number("WORKER"), .text("NAME", widthMax: 40), .text("STATE"), .number("LEASED"), .text("STARTED"),
            .text("OLDEST CLAIM"),
        ])
        for worker in workers {
            table.add([
                "\(worker.id)", Escape.text(worker.name),
                worker.isAlive.map { $0 ? "alive" : "dead" } ?? "unknown", "\(worker.leased)",
                TimeText.short(worker.startedAt),
                worker.oldestClaim.map { DurationText.short(max(now - $0, .zero)) + " ago" } ?? "",
            ])
        }
        return table
    }

    static func policies(_ queues: [QueueStatus]) -> Table {
        var table = Table([
            .text("QUEUE", widthMax: 40), .text("STATE"), .number("CAPACITY"), .text("WHEN FULL"), .number("ATTEMPTS"),
            .text("RETRY"), .text("RETAIN"), .text("GROUPS"), .text("LIMIT"),
        ])
        for queue in queues {
            let policy = queue.policy
            table.add([
                Escape.text(queue.name.text), state(queue),
                policy.capacity.map { "\($0.count)" } ?? "none", policy.capacity?.whenFull.word ?? "",
                "\(policy.retry.attemptsMax)",
                "\(DurationText.format(policy.retry.base)) to \(DurationText.format(policy.retry.cap))",
                retention(policy.retention), groups(policy.groups), limit(policy),
            ])
        }
        return table
    }

    static func details(_ queue: QueueStatus) -> [String] {
        let policy = queue.policy
        let depths = Depths.states.map { "\(queue.depths[keyPath: $0.number]) \($0.word)" }
        let totals = Totals.events.map { "\(queue.totals[keyPath: $0.number]) \($0.word)" }
        let facts: [(String, String)] = [
            ("queue", Escape.text(queue.name.text)),
            ("state", state(queue)),
            ("capacity", policy.capacity.map { "\($0.count), when full \($0.whenFull.word)" } ?? "none"),
            ("attempts", "\(policy.retry.attemptsMax)"),
            (
                "retry",
                "after \(DurationText.format(policy.retry.base)), times \(policy.retry.factor), at most "
                    + "\(DurationText.format(policy.retry.cap)), jitter \(policy.retry.jitter)"
            ),
            ("retain", retention(policy.retention)),
            ("expired", policy.whenExpired == .drop ? "messages are dropped" : "messages are dead"),
            ("groups", groups(policy.groups)),
            ("limit", limit(policy)),
            ("rate", rate(policy)),
            ("sharing", policy.isFair ? "fair" : "in the order of the log"),
            ("depths", depths.joined(separator: ", ")),
            ("totals", totals.joined(separator: ", ")),
            ("wait", latency(queue.latency.wait)),
            ("work", latency(queue.latency.work)),
        ]
        return Table.lines(of: facts)
    }

    private static func latency(_ histogram: LatencyHistogram) -> String {
        guard let median = histogram.quantile(0.5), let most = histogram.quantile(0.99) else { return "none yet" }
        return "half within \(DurationText.short(median)), 99 of 100 within \(DurationText.short(most))"
    }

    private static func state(_ queue: QueueStatus) -> String {
        queue.isDeleting ? "deleting" : queue.isPaused ? "paused" : "open"
    }

    private static func groups(_ groups: GroupPolicy?) -> String {
        switch groups {
        case .fifo(let onDead): "in order, on dead \(onDead.rawValue)"
        case .limit(let count): "\(count) at a time"
        case nil: "none"
        }
    }

    private static func limit(_ policy: QueuePolicy) -> String {
        let shared = policy.sharedLimit.map { "shared \(Escape.text($0.text))" }
        let own = policy.limit.map { "\($0)" }
        return own == nil && shared == nil ? "none" : [own, shared].compactMap(\.self).joined(separator: ", ")
    }

    private static func rate(_ policy: QueuePolicy) -> String {
        func text(_ rate: Rate) -> String { rate.word + (rate.burst > 1 ? ", \(rate.burst) at once" : "") }
        let rates = [policy.rate.map(text), policy.ratePerKey.map { "per key \(text($0))" }].compactMap(\.self)
        return rates.isEmpty ? "none" : rates.joined(separator: "; ")
    }

    private static func retention(_ retention: Retention) -> String {
        let age = retention.age.map(DurationText.format) ?? "for ever"
        let count = retention.count.map { ", \($0) messages" } ?? ""
        let dead = retention.deadAge.map { ", dead letters \(DurationText.format($0))" } ?? ""
        return age + count + dead
    }
}
