import PenstockCore
import PenstockSQL
import PenstockSQLite
import Testing

extension WorkflowName {
    static let flow = WorkflowName(stored: "flow")
}

extension SQLiteStore {
    /// Starts the workflow `flow`: tasks of `jobs` by their names, each with those that it waits for.
    @discardableResult
    func begin(_ tasks: [(String, [String])]) async throws -> [Int64] {
        let tasks = tasks.map { name, parents in
            NewTask(
                TaskName(stored: name), queue: .jobs, message: .text(name),
                dependencies: parents.map { Dependency(on: TaskName(stored: $0)) })
        }
        let started = try await start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash)
        return started.receipts.map(\.sequence.rawValue)
    }

    /// Takes one message and says what became of it.
    func work(_ verdict: Verdict) async throws {
        let message = try #require(try await take().first)
        _ = try await settle([Settlement(message.lease, verdict)])
    }

    /// In how many states the tasks of `flow` are.
    func counts() async throws -> [MessageState: Int] {
        try #require(try await workflows(WorkflowQuery(name: .flow)).first).counts
    }
}

/// One task that `count` wait for.
func fan(_ count: Int) -> [(String, [String])] {
    [("first", [])] + (1...count).map { ("\($0)", ["first"]) }
}
