import PenstockConformance
import PenstockCore
import Testing

/// A store at a server keeps the rules of every store, over real sockets. Each is shown once.
@Suite struct RemoteConformanceTests {
    /// What a client claims is its own: rules that need no process to die.
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all.filter { !ofProcesses($0) && !isLeft($0) })
    func conforms(_ rule: ConformanceCase) async throws {
        try await run(rule, worker: WorkerName(stored: "mill:1"))
    }

    /// What a client claims is the server's, and a server that dies is a process that dies: the others. Lives, which are last of all
    /// rules, begin first: each takes longer than a hundred rules, and the last of them would run alone.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: Array(ConformanceCase.all.filter { ofProcesses($0) && !isLeft($0) }.reversed()))
    func conformsWhereProcessesDie(_ rule: ConformanceCase) async throws {
        try await run(rule, worker: nil)
    }

    /// What is said here of rules is said of some that there are.
    @Test func theRulesThatAreNamedExist() {
        let names = Set(ConformanceCase.all.map(\.testDescription))
        #expect(Self.processes.union(Self.left).subtracting(names).isEmpty)
        #expect(names.contains { $0.hasPrefix(Self.graphs) })
        #expect(ConformanceCase.all.count { $0.subject == "random lives" && !Self.isLeft($0) } == 9)
    }

    private func run(_ rule: ConformanceCase, worker: WorkerName?) async throws {
        let harness = RemoteHarness(worker: worker)
        try await rule.run(on: harness)
        await harness.end()
    }

    /// Whether processes die in it, or workers are told by their processes.
    private static func ofProcesses(_ rule: ConformanceCase) -> Bool {
        rule.subject == "random lives" || processes.contains(rule.testDescription)
    }

    private static let processes: Set = [
        "a remote worker: holds its messages when the process is gone that it claimed through",
        "a remote worker: one of that name is one worker, and another name another",
        "cancel: a dead worker's message is cancelled",
        "expiry: ends what would start again after its time",
        "groups: keep their permit over the death of a worker",
        "key scopes: a message that comes back from its worker has its key again",
        "limits: are free again when a worker dies",
        "overflow: what comes back always finds a place",
        "perform: a dead process's operations are all there",
        "rates: count starts that come to nothing",
        "recovery: a lost attempt counts, and the last one makes a dead letter",
        "recovery: a reboot frees every lease",
        "recovery: leaves the messages of the living alone",
        "recovery: takes back from a dead worker at once",
        "status: depths and totals follow every event",
        "status: lists who holds messages",
        "wait reason: names the worker that has a message",
        "workflow: a worker that dies for the last time cancels what waits",
    ]

    private static let left: Set = [
        // The process dies by an error of the test's own between two steps, and no such error comes through a server.
        "deletion: goes on when it is asked for again",
        // It takes a store that is closed for a process that has gone. The server has not.
        "wait reason: says what keeps a whole queue",
        // Thousands of calls, of kinds that all have rules of their own here. So have the graphs.
        "firing: a year of deaths and clocks set to and fro: each firing once, none lost",
    ]

    private static let graphs = "workflow: random graphs begin in order and end"

    /// Of each kind of lives three show every kind of call over the wire. The others are for what tells engines apart.
    private static let lives = ["seed 1", "seed 2", "seed 3"]

    private static func isLeft(_ rule: ConformanceCase) -> Bool {
        if rule.subject == "random lives" { return !lives.contains { rule.name.hasSuffix(" " + $0) } }
        return left.contains(rule.testDescription) || rule.testDescription.hasPrefix(graphs)
    }
}
