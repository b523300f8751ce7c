import Dispatch
import Logging
import Penstock
import PenstockFormats
import ServiceLifecycle

/// Works queues until that ends or somebody wants it to.
struct CommandWorker: Sendable {
    let queues: [Queue<[UInt8]>]
    let order: QueueOrder
    let options: Worker<[UInt8]>.Options
    /// How long commands that run have to end once the worker is to stop.
    let grace: Duration
    let handler: any MessageHandler
    var clock: any Clock<Duration> = ContinuousClock()
    /// How many messages processes of this number have leased, as the store says. It knows of a claim before its answer is here, but
    /// not of what a server's client holds.
    let leasedCount: @Sendable () async throws -> Int
    /// What the store is, to which messages come back after an end that gives nothing back.
    let place: StoreAddress.Kind
    let logger: Logger
    /// What the worker itself knows that it holds.
    let heldLeases = HeldLeases()

    /// How long a worker that has nothing in its hands may take to end. It takes longer when another process holds the
    /// file.
    private static let leaveTime = Duration.seconds(1)
    /// How long after the first signal another one is the first one still: timeout(1) signals a process and then its whole group, and means
    /// one.
    private static let firstSignalTime = Duration.milliseconds(250)
    /// How long one may take to give back what it has, when no command runs after the grace, or after a second signal.
    /// Should it not come to that, the kernel tells other workers that it is gone.
    private static let giveBackTime = Duration.seconds(3)

    /// Works. No command runs any more when this returns or throws, or ends the process: a worker that is told to end
    /// does not wait for other processes that hold the file, if all that it could do is to take its leave.
    ///
    /// - Throws: ``Failure`` when the command cannot be started, or with status `interrupted` or `terminated` after a
    ///   second signal; what the worker throws.
    func run() async throws {
        let reasons = StopReasons()
        let guardians = Guardians()
        let stops = StopRequests()
        var worker = Worker(queues, order: order, options: options) { [handler] delivery in
            do {
                try await handler.handle(delivery, in: guardians, stops: stops)
            } catch let failure as Failure {
                // That a command cannot be started is no fault of the message: the next worker gets it, unharmed.
                reasons.add(.broken(failure))
                try await delivery.release()
            }
        }
        worker.heldLeases = heldLeases
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: worker, successTerminationBehavior: .gracefullyShutdownGroup)
        // Of itself the group has nothing to say to people unless something goes wrong.
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .notice)
        let group = ServiceGroup(configuration: .init(services: [service], logger: quiet))

        let failure = try await withThrowingTaskGroup(of: Failure?.self) { tasks in
            tasks.addTask { await listen(to: reasons, stopping: group, stops) }
            tasks.addTask {
                try await guardians.use {
                    try await handler.use(in: guardians, stops: stops) { failure in
                        reasons.add(.broken(failure))
                    } _: {
                        try await group.run()
                    }
                }
                return nil
            }
            return try await end(of: &tasks)
        }
        if let failure { throw failure }
    }

    /// Waits for the worker. A listener that returns first wants it to end at once.
    private func end(of tasks: inout ThrowingTaskGroup<Failure?, any Error>) async throws -> Failure? {
        let first = try await tasks.next() ?? nil
        tasks.cancelAll()
        // Cancelled by us, the other one has nothing to add.
        let second = (try? await tasks.next()) ?? nil
        return first ?? second ?? nil
    }

    /// Stops the group for the first reason, and the commands that still run when the grace is over. What a second signal does is said
    /// once there can be one.
    ///
    /// - Returns: the failure, after a signal that came when it was stopping already; or, once this task is cancelled
    ///   because the worker has ended, the failure that it was stopped for, if any.
    private func listen(
        to reasons: StopReasons, stopping group: ServiceGroup, _ stops: StopRequests
    ) async -> Failure? {
        await withTaskGroup(of: Void.self) { timer in
            defer { timer.cancelAll() }
            var isStopping = false
            var failure: Failure?
            // What is to be said of the first signal, as long as it is not over.
            var sentence: String?
            for await reason in reasons.all {
                switch reason {
                case .signal where sentence != nil:
                    continue
                case .signal(let number) where isStopping:
                    let status: ShellStatus = number == SIGINT ? .interrupted : .terminated
                    leave(with: status)
                    if await hasEmptyHands(stops) { ProgramEnd.now(failure) }
                    // The worker has ended by itself meanwhile.
                    if Task.isCancelled { return failure }
                    return Failure(
                        status,
                        "Stopped at once by a second signal: the commands were killed, and their messages given back.")
                case .signal:
                    sentence =
                        stops.isEmpty
                        ? "Stopping; no command runs."
                        : "Stopping; commands that run have \(DurationText.format(grace)) to end. A second signal stops at once."
                    timer.addTask {
                        guard (try? await clock.sleep(for: Self.firstSignalTime)) != nil else { return }
                        reasons.add(.firstIsOver)
                    }
                case .firstIsOver:
                    if let said = sentence { ErrorOutput.say(said) }
                    sentence = nil
                case .broken(let reason):
                    failure = failure ?? reason
                }
                guard !isStopping else { continue }
                isStopping = true
                stops.begin()
                await group.triggerGracefulShutdown()
                timer.addTask { [failure] in
                    guard (try? await clock.sleep(for: grace)) != nil else { return }
                    stops.makeAll(.grace)
                    await leaveWithFullHands(stops, failure)
                }
                timer.addTask { [failure] in await leaveWithEmptyHands(stops, failure) }
            }
            // It has ended meanwhile.
            if let sentence { ErrorOutput.say(sentence) }
            return failure
        }
    }

    /// Ends the process at `failure`, if there is one, once it has had time to end by itself and has nothing in its hands;
    /// cancelled when the worker is through.
    private func leaveWithEmptyHands(_ stops: StopRequests, _ failure: Failure?) async {
        while (try? await clock.sleep(for: Self.leaveTime)) != nil {
            if await hasEmptyHands(stops), !Task.isCancelled { ProgramEnd.now(failure) }
        }
    }

    /// Ends the process at `failure` or, if there is none, at one of its own, should the store not have taken the verdicts
    /// before long once no command runs; cancelled when the worker is through.
    private func leaveWithFullHands(_ stops: StopRequests, _ failure: Failure?) async {
        while !stops.isEmpty {
            guard (try? await clock.sleep(for: Self.leaveTime)) != nil else { return }
        }
        guard (try? await clock.sleep(for: Self.giveBackTime)) != nil, !Task.isCancelled else { return }
        ProgramEnd.now(
            failure
                ?? Failure(
                    .temporary,
                    "Stopped, but \(place.name) does not take what became of the messages in hand, so they come back "
                        + "\(place.whenLostComesBack)."))
    }

    /// Whether no command runs and no message is leased. As long as this cannot be known, the worker may have some.
    private func hasEmptyHands(_ stops: StopRequests) async -> Bool {
        guard stops.isEmpty, heldLeases.isEmpty, let count = try? await leasedCount() else { return false }
        // The store has taken its time to answer.
        return count == 0 && stops.isEmpty && heldLeases.isEmpty
    }

    /// Ends the process with `status`, should it not have ended by itself before long.
    private func leave(with status: ShellStatus) {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.giveBackTime / .seconds(1)) {
            ProgramEnd.now(
                Failure(
                    status,
                    "Stopped at once by a second signal: the commands were killed. \(place.whyNothingIsGivenBack), so their messages come back "
                        + "\(place.whenLostComesBack)."))
        }
    }
}
