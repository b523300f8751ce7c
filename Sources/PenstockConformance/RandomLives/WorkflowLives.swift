import PenstockCore
import PenstockTestKit
import Testing

/// Random graphs, worked by several processes that die now and then.
enum WorkflowLives {
    /// Few graphs are in each case, so that cases which run side by side end together.
    private static let lots: [ClosedRange<Int>] = stride(from: 1, to: 200, by: 20).map { $0...($0 + 19) }

    static let cases = lots.map { seeds in
        ConformanceCase("workflow", "random graphs begin in order and end, seeds \(seeds)") { bench in
            // They live through all graphs, but for those that are killed: to open a store takes longer than most graphs.
            var processes: [any MessageStore] = []
            for _ in 0..<processCount { processes.append(try await bench.open()) }
            for queue in queues {
                try await processes[0].configure(queue, .create(.steady(attemptsMax: 100), ifAbsent: true))
            }
            for seed in seeds { try await live(seed, bench, &processes) }
            for process in processes { try await process.close() }
        }
    }

    private static let queues = [QueueName.jobs, .mail]
    private static let processCount = 4

    private static func live(_ seed: Int, _ bench: Bench, _ processes: inout [any MessageStore]) async throws {
        let random = SeededRandom(seed: UInt64(seed))
        // Half of the graphs are worked by processes that nobody kills: there each attempt is one that was asked for.
        let life = GraphLife(seed: seed, random, kills: seed.isMultiple(of: 2))
        _ = try await processes[0].start(life.workflow, durability: .processCrash)
        // The process that starts the graph may die as well.
        if life.kills {
            try await bench.crash(processes[0])
            processes[0] = try await bench.open()
        }

        var isQuiet = 0
        while isQuiet < 3 {
            let index = random.next(in: 0...(processCount - 1))
            let claimed = try await processes[index].take(
                random.next(in: 1...20), from: random.pick(queues) ?? .jobs, lease: .seconds(20))
            isQuiet = claimed.isEmpty ? isQuiet + 1 : 0
            for message in claimed { try await life.begun(message, processes[index]) }
            if life.kills, random.chance(0.1) {
                try await bench.crash(processes[index])
                processes[index] = try await bench.open()
            } else {
                try await life.settle(claimed, processes[index])
            }
            bench.time.advance(by: .milliseconds(random.next(in: 0...2000)))
            if isQuiet > 0 {
                bench.time.advance(by: .seconds(10))
                _ = try await processes[0].reclaim()
                for queue in queues where try await !processes[0].depths(queue).isWorked { isQuiet = 0 }
            }
        }
        try await life.ended(processes[0])
    }
}

extension Depths {
    /// Whether no message waits for a worker or its time, and none is held.
    fileprivate var isWorked: Bool { scheduled + ready + leased == 0 }
}

/// One random graph, and what is known of its tasks.
private final class GraphLife {
    let kills: Bool
    let workflow: NewWorkflow
    private let seed: Int
    private let random: SeededRandom
    private var dependencies: [TaskName: [Dependency]] = [:]
    /// How often a task began, and how often that was asked for.
    private var begun: [TaskName: Int] = [:]
    private var asked: [TaskName: Int] = [:]
    /// How tasks ended whose verdict was taken.
    private var ends: [TaskName: MessageState] = [:]

    init(seed: Int, _ random: SeededRandom, kills: Bool) {
        self.seed = seed
        self.random = random
        self.kills = kills
        let most = [40, 200].contains(seed) ? 1000 : 300
        let size = seed.isMultiple(of: 40) ? most : random.next(in: 1...(seed.isMultiple(of: 9) ? 150 : 30))
        var tasks: [NewTask] = []
        for number in 0..<size {
            let near = tasks.suffix(random.chance(0.8) ? 8 : 200)
            var parents: Set<TaskName> = []
            for _ in 0..<random.next(in: 0...3) {
                if let parent = random.pick(Array(near)) { parents.insert(parent.name) }
            }
            let needs: [Dependency.Need] = [.done(), .done(), .done(whenDead: .hold), .ended]
            tasks.append(
                NewTask(
                    TaskName(stored: "\(number)"), queue: random.chance(0.5) ? .jobs : .mail,
                    message: .text("\(number)"),
                    dependencies: parents.sorted().map { Dependency(on: $0, need: random.pick(needs) ?? .ended) }))
        }
        workflow = NewWorkflow(WorkflowName(stored: "graph \(seed)"), tasks: tasks)
        for task in tasks {
            dependencies[task.name] = task.dependencies
            asked[task.name] = 1
        }
    }

    /// A task has begun: after all that it depends on.
    func begun(_ message: ClaimedMessage, _ store: any MessageStore) async throws {
        let name = TaskName(stored: message.text)
        #expect(message.task == workflow.name.map { TaskPlace(workflow: $0, task: name) }, "seed \(seed)")
        begun[name, default: 0] += 1
        #expect(ends[name] == nil, "seed \(seed): \(name) began again after its end")
        if !kills { #expect(begun[name, default: 0] <= asked[name, default: 0], "seed \(seed): \(name) began twice") }
        for dependency in dependencies[name] ?? [] {
            switch (dependency.need, ends[dependency.task]) {
            case (_, .done), (.ended, .dead): break
            case (.ended, nil):
                let parent = try await store.tasks(TaskQuery(message.task?.workflow ?? .flow, name: dependency.task))
                #expect(parent.first?.state == .cancelled, "seed \(seed): \(name) before \(dependency.task)")
            default:
                Issue.record("Seed \(seed): \(name) began, and \(dependency.task) is not done.")
            }
        }
    }

    func settle(_ claimed: [ClaimedMessage], _ store: any MessageStore) async throws {
        let verdicts = claimed.map { _ -> Verdict in
            switch random.next(in: 0...19) {
            case 0: .dead(error: "bad")
            case 1: .retry(error: "again")
            case 2: .release
            default: .done
            }
        }
        let results = try await store.settle(zip(claimed, verdicts).map { Settlement($0.lease, $1) })
        for (message, result) in zip(claimed, results) {
            let name = TaskName(stored: message.text)
            switch result {
            case .settled(let state) where state.isFinished: ends[name] = state
            case .settled: asked[name, default: 0] += 1
            case .leaseLost: #expect(kills, "seed \(seed): a lease was lost though nobody died")
            }
        }
    }

    /// Nothing is to be worked any more: the graph has ended, or says what it waits for, and goes on when that comes back.
    func ended(_ store: any MessageStore) async throws {
        let name = workflow.name ?? .flow
        let record = try #require(try await store.workflows(WorkflowQuery(name: name)).first)
        #expect(record.counts.values.reduce(0, +) == workflow.tasks.count, "seed \(seed)")
        let tasks = try await store.tasks(TaskQuery(name))
        let states = Dictionary(uniqueKeysWithValues: tasks.map { ($0.name, $0.state) })
        var isHeld = false
        for task in tasks {
            switch task.state {
            case .pending:
                isHeld = true
                let open = task.dependencies.filter { $0.state == .open }.map(\.dependency.task)
                #expect(!open.isEmpty, "seed \(seed): \(task.name) waits for nothing")
                for parent in open {
                    let state = states[parent]
                    #expect(state == .dead || state == .pending, "seed \(seed): \(task.name) waits for \(parent)")
                }
            case .cancelled: #expect(task.reason == .parentFailed, "seed \(seed): \(task.name)")
            case .done, .dead: #expect(ends[task.name] == task.state, "seed \(seed): \(task.name)")
            default: Issue.record("Seed \(seed): \(task.name) is \(task.state).")
            }
        }
        let isDone = tasks.allSatisfy { $0.state == .done }
        #expect(record.state == (isHeld ? .held : isDone ? .done : .failed), "seed \(seed)")
        try await redrive(tasks.filter { $0.state == .dead }, store)
        #expect(try await store.workflows(WorkflowQuery(name: name)).first?.state == .done, "seed \(seed)")
    }

    /// All that is dead comes back, and then everything is done.
    private func redrive(_ dead: [TaskRecord], _ store: any MessageStore) async throws {
        if dead.isEmpty { return }
        _ = try await store.apply(.redrive, to: .sequences(dead.map(\.sequence)))
        var isQuiet = false
        while !isQuiet {
            _ = try await store.reclaim()
            let (jobs, mail) = (try await store.drainDone(), try await store.drainDone(.mail))
            isQuiet = jobs.isEmpty && mail.isEmpty
        }
    }
}
