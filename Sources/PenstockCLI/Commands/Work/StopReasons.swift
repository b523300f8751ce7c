import Dispatch

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
        let queue = DispatchQueue(label: "penstock.signals")
        for number in [SIGTERM, SIGINT] {
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The source lives as long as its handler, and the handler as long as the process: it is never cancelled.
            source.setEventHandler { [source] in
                _ = source
                adding.yield(.signal(number))
            }
            source.activate()
        }
    }

    func add(_ reason: StopReason) { adding.yield(reason) }
}
