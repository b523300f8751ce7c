import PenstockCore
import PenstockFormats
import PenstockHTTP

/// What somebody asks of a claim.
struct ClaimEntry: Decodable {
    /// The queues, the first one first. Empty where the path names one.
    var queues: [QueueName]
    var limit: Int
    var lease: Duration
    var wait: Duration
    /// `nil`: the worker is called as the caller's token is.
    var worker: WorkerName?

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["queues", "limit", "lease", "wait", "worker"], of: "A claim")
        queues = try members.value("queues") ?? []
        try require(
            queues.count <= Bounds.claimQueueCountMax && Set(queues).count == queues.count,
            "A claim names at most \(Bounds.claimQueueCountMax) queues, each once.")
        limit = try members.count("limit", in: Bounds.claimRange) ?? 1
        lease = try members.duration("lease") ?? .seconds(30)
        try Lease.validate(lease)
        wait = try members.duration("wait", in: Bounds.waitRange) ?? .zero
        worker = try members.value("worker")
    }

    /// The claim, if the caller may work on all of these queues.
    ///
    /// - Parameter queue: the one that the path names.
    func claim(of queue: QueueName?, by principal: Principal) throws -> RemoteClaim {
        if queue != nil {
            try require(queues.isEmpty, "The path names the queue; leave out \"queues\", or ask /v1/claims.")
        }
        let queues = queue.map { [$0] } ?? queues
        try require(!queues.isEmpty, "A claim names its \"queues\".")
        for queue in queues { try principal.require(.consume, queue) }
        return RemoteClaim(
            queues: queues, limit: limit, lease: lease, worker: try worker ?? WorkerName(ofToken: principal.name),
            wait: wait)
    }
}
