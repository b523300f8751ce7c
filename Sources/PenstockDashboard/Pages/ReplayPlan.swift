import PenstockCore
import PenstockFormats
import PenstockHTTP

/// Which messages somebody would have put in line again, and into which queue.
struct ReplayPlan {
    static let names: Set<String> = ["count", "state", "since", "before", "into"]
    /// Messages that one replay by a page puts in line. More are for the command.
    static let countMax = Limits.rowsMax

    private(set) var count = 1000
    private(set) var state: MessageState?
    private(set) var into: QueueName?
    private var since: Timestamp?
    private var before: Timestamp?

    init() {}

    init(_ fields: QueryParameters, now: Timestamp) throws(Problem) {
        count = try fields.count("count", in: 1...Self.countMax) ?? count
        state = try fields.choice("state", MessageState.self)
        since = try fields.time("since", now: now)
        before = try fields.time("before", now: now)
        into = try fields.name("into")
    }

    /// The last messages of the queue that it asks for, in the order of the log.
    func messages(of queue: QueueName, in storage: any MessageStore) async throws -> [SequenceNumber] {
        let look = MessageQuery(
            queue: queue, states: state.map { [$0] }, since: since, before: before, end: .last, limit: count)
        var found: [SequenceNumber] = []
        try await storage.eachPage(of: look) { found.insert(contentsOf: $0.map(\.sequence), at: 0) }
        return found
    }
}

/// Numbers of messages as a form carries them: those that follow each other as `3-17`, with commas between.
enum SequenceRuns {
    /// - Parameter sequences: in their order, each once.
    static func text(_ sequences: [SequenceNumber]) -> String {
        var runs: [ClosedRange<Int64>] = []
        for number in sequences.map(\.rawValue) {
            if let last = runs.last, last.upperBound + 1 == number {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }

    /// - Throws: a problem with status 400 when the text is no such list, or has more than `countMax` numbers in it.
    static func parse(_ text: String, countMax: Int) throws(Problem) -> [SequenceNumber] {
        var numbers: [SequenceNumber] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int64($0) }
            // What is left is asked for first: a run may name more numbers than there is memory for.
            guard let first = ends.first ?? nil, let last = ends.last ?? nil, first >= 1, last >= first,
                last - first < Int64(countMax - numbers.count)
            else {
                throw Problem.invalid("A replay names the messages that were shown, at most \(countMax).")
            }
            numbers += (first...last).map { SequenceNumber($0) }
        }
        return numbers
    }
}
