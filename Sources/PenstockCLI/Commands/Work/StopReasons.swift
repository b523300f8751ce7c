/// Why a worker should stop, as reasons come up.
enum StopReason: Sendable {
    /// SIGTERM or SIGINT.
    case signal(Int32)
    /// The first signal is over: what comes from now on is a second one.
    case firstIsOver
    /// Its command cannot be started any more.
    case broken(Failure)
}

/// Gathers the reasons to stop. From its making on, SIGTERM and SIGINT do not end the process any more.
struct StopReasons: Sendable {
    let all: AsyncStream<StopReason>
    private let adding: AsyncStream<StopReason>.Continuation

    init() {
        let (all, adding) = AsyncStream.makeStream(of: StopReason.self)
        (self.all, self.adding) = (all, adding)
        StopSignals.follow { adding.yield(.signal($0)) }
    }

    func add(_ reason: StopReason) { adding.yield(reason) }
}
