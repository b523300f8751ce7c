import PenstockCore
import Testing

@testable import PenstockMetrics

@Suite struct StoreFamiliesTests {
    private func queue(_ name: String, ready: Int = 0, capacity: Int? = nil) throws -> QueueStatus {
        var depths = Depths()
        depths.ready = ready
        var totals = Totals()
        totals.enqueued = ready
        let policy = QueuePolicy(capacity: capacity.map { Capacity($0, whenFull: .fail) })
        return QueueStatus(
            name: try QueueName(name), policy: policy, isPaused: false, depths: depths, totals: totals)
    }

    private func lines(_ status: StoreStatus) -> [Substring] {
        var text = PrometheusText()
        text.add(status)
        return text.text.split(separator: "\n")
    }

    @Test func eachStateAndEventOfAQueueIsThereFromZeroOn() throws {
        let lines = lines(
            StoreStatus(queues: [try queue("mail", ready: 5, capacity: 9), try queue("sms")], workers: []))
        for state in ["pending", "scheduled", "blocked", "leased", "dead", "kept"] {
            #expect(lines.contains(#"penstock_queue_messages{queue="mail",state="\#(state)"} 0"#))
        }
        #expect(lines.contains(#"penstock_queue_messages{queue="mail",state="ready"} 5"#))
        #expect(
            lines.filter { $0.hasPrefix("penstock_queue_capacity{") } == [#"penstock_queue_capacity{queue="mail"} 9"#])
        for event in ["done", "dead", "dropped", "cancelled", "retried", "reclaimed"] {
            #expect(lines.contains(#"penstock_messages_\#(event)_total{queue="sms"} 0"#))
        }
        #expect(lines.contains("penstock_workers 0"))
        #expect(lines.contains("penstock_metrics_queues_omitted 0"))
    }

    @Test func whetherTheStoreHasMovedIsANumber() {
        var status = StoreStatus(queues: [], workers: [])
        #expect(lines(status).contains("penstock_store_moved 0"))
        status.move = StoreMove(phase: .draining, source: "a", target: "b")
        #expect(lines(status).contains("penstock_store_moved 1"))
    }

    /// An operator is alerted of too few workers: a process that died must not count as one.
    @Test func deadWorkersAreNoWorkers() {
        let workers = [true, false, false].map { isAlive in
            WorkerRecord(
                id: 1, name: "w", processID: 1, startedAt: Timestamp(microseconds: 0), isAlive: isAlive, leased: 0,
                oldestClaim: nil)
        }
        #expect(lines(StoreStatus(queues: [], workers: workers)).contains("penstock_workers 1"))
    }

    @Test func whetherAQueueIsPausedIsANumber() throws {
        var paused = try queue("mail")
        paused.isPaused = true
        let lines = lines(StoreStatus(queues: [paused, try queue("sms")], workers: []))
        #expect(
            lines.filter { $0.hasPrefix("penstock_queue_paused{") } == [
                #"penstock_queue_paused{queue="mail"} 1"#, #"penstock_queue_paused{queue="sms"} 0"#,
            ])
    }

    /// At a standby. A zero would say that nobody works.
    @Test func workersOfWhichNobodyKnowsHaveNoNumber() {
        var worker = WorkerRecord(
            id: 1, name: "w", processID: 1, startedAt: Timestamp(microseconds: 0), isAlive: true, leased: 0,
            oldestClaim: nil)
        #expect(lines(StoreStatus(queues: [], workers: [worker])).contains("penstock_workers 1"))
        worker.isAlive = nil
        let unknown = lines(StoreStatus(queues: [], workers: [worker]))
        #expect(!unknown.contains { $0.hasPrefix("penstock_workers") })
    }

    @Test func beyondABoundQueuesAreSummedUp() throws {
        let queues = try (0..<4).map { try queue("q\($0)", ready: 10 + $0) }
        let chosen = QueueSeries(queues, countMax: 2)
        #expect(chosen.othersCount == 2)
        #expect(
            chosen.series.map(\.labels) == [
                Labels(["queue": "q0"]), Labels(["queue": "q1"]), Labels(["queue": "_other"]),
            ])
        #expect(chosen.series.last?.depths.ready == 25)
        #expect(chosen.series.last?.totals.enqueued == 25)
        #expect(QueueSeries(queues, countMax: 4).othersCount == 0)
    }

    /// Else the series would be there twice, and Prometheus refuse all of them.
    @Test func aQueueThatIsCalledLikeTheOthersIsOneOfThem() throws {
        let queues = try [queue("_other", ready: 1), queue("a", ready: 2), queue("b", ready: 3)]
        let chosen = QueueSeries(queues, countMax: 2)
        #expect(chosen.series.map(\.depths.ready) == [2, 3, 1])
        #expect(Set(chosen.series.map(\.labels)).count == 3)
        // Where all have series of their own, it has one as well.
        #expect(QueueSeries(queues, countMax: 3).series.map(\.depths.ready) == [1, 2, 3])
    }

    @Test func agesAreMomentsAndLatenciesHistograms() throws {
        var mail = try queue("mail")
        mail.oldestReady = Timestamp(microseconds: 2_500_000)
        mail.oldestLease = Timestamp(microseconds: 7_000_000)
        mail.latency.wait.record(.milliseconds(3))
        mail.latency.work.record(.seconds(1_000_000))
        let lines = lines(StoreStatus(queues: [mail, try queue("sms")], workers: []))
        let ages = lines.filter { $0.hasPrefix("penstock_queue_oldest_") }
        #expect(
            ages == [
                #"penstock_queue_oldest_ready_timestamp_seconds{queue="mail"} 2.5"#,
                #"penstock_queue_oldest_lease_timestamp_seconds{queue="mail"} 7"#,
            ])
        #expect(lines.contains(#"penstock_message_wait_seconds_bucket{queue="mail",le="0.001585"} 0"#))
        #expect(lines.contains(#"penstock_message_wait_seconds_bucket{queue="mail",le="0.003981"} 1"#))
        #expect(lines.contains(#"penstock_message_wait_seconds_sum{queue="mail"} 0.003"#))
        // What took longer than the last bound is counted, too.
        #expect(lines.contains(#"penstock_message_process_seconds_count{queue="mail"} 1"#))
        #expect(lines.contains(#"penstock_message_process_seconds_bucket{queue="sms",le="+Inf"} 0"#))
    }

    @Test func theOthersHaveTheOldestOfThem() throws {
        var (first, second) = (try queue("a"), try queue("b"))
        first.oldestReady = Timestamp(microseconds: 9)
        second.oldestReady = Timestamp(microseconds: 5)
        first.oldestLease = Timestamp(microseconds: 3)
        second.oldestLease = Timestamp(microseconds: 8)
        first.latency.wait.record(.seconds(1))
        second.latency.wait.record(.seconds(2))
        let others = try #require(QueueSeries([first, second, try queue("c")], countMax: 0).series.first)
        #expect(others.oldestReady == Timestamp(microseconds: 5))
        #expect(others.oldestLease == Timestamp(microseconds: 3))
        #expect(others.latency.wait.count == 2)
    }

    /// The file may say anything.
    @Test func sumsDoNotOverflow() throws {
        let chosen = QueueSeries([try queue("a", ready: .max), try queue("b", ready: .max)], countMax: 0)
        #expect(chosen.series.map(\.depths.ready) == [.max])
    }

    @Test func cursorsAreBoundedAsWell() throws {
        let name = try QueueName("q")
        let cursors = try (0..<(PrometheusText.cursorCountMax + 3)).map {
            CursorRecord(
                queue: name, name: try CursorName("c\($0)"), sequence: SequenceNumber(7), missed: 2,
                movedAt: Timestamp(microseconds: 1_500_000))
        }
        let lines = lines(StoreStatus(queues: [], workers: [], cursors: cursors))
        #expect(lines.contains(#"penstock_cursor_sequence{queue="q",cursor="c0"} 7"#))
        #expect(lines.contains(#"penstock_cursor_moved_timestamp_seconds{queue="q",cursor="c0"} 1.5"#))
        #expect(lines.contains(#"penstock_cursor_missed_messages_total{queue="q",cursor="c0"} 2"#))
        #expect(lines.contains("penstock_metrics_cursors_omitted 3"))
        #expect(lines.count { $0.hasPrefix("penstock_cursor_sequence{") } == PrometheusText.cursorCountMax)
    }

    /// They would be readers that are behind for ever.
    @Test func cursorsThatHoldSettingsAreLeftOut() throws {
        let cursors = try ["a", CursorName.settingsPrefix + "1"].map {
            CursorRecord(
                queue: try QueueName("q"), name: try CursorName($0), sequence: SequenceNumber(7),
                movedAt: Timestamp(microseconds: 0))
        }
        let lines = lines(StoreStatus(queues: [], workers: [], cursors: cursors))
        #expect(lines.filter { $0.contains("cursor=") }.allSatisfy { $0.contains(#"cursor="a""#) })
        #expect(lines.contains(#"penstock_cursor_sequence{queue="q",cursor="a"} 7"#))
        #expect(lines.contains("penstock_metrics_cursors_omitted 0"))
    }

    @Test func factsOfTheProcess() throws {
        var facts = ProcessFacts()
        facts.take(
            stat: "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 500 8192 2 18446744073709551615 1",
            system: "cpu 1 2\nbtime 1700000000\n")
        #expect(facts.threadCount == 3)
        #expect(facts.virtualBytes == 8192)
        #expect(facts.startedAtSeconds.map { $0 > 1_700_000_000 } == true)
        let now = ProcessFacts.now()
        #expect(now.cpuSeconds.map { $0 > 0 } == true)
        #expect(now.openFileCountMax.map { $0 > 0 } == true)
        #if os(Linux)
            #expect(now.openFileCount.map { $0 >= 3 } == true)
            #expect(now.residentBytes.map { $0 > 100_000 } == true)
        #endif
    }
}
