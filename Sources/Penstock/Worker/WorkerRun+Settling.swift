internal import Logging
internal import PenstockCore

extension WorkerRun {
    /// Those whose handler has not settled by itself, in the order of the log: a store moves neighbours together.
    func stillHeld(_ finished: [HandlerSlots.Finished]) -> [HandlerSlots.Finished] {
        let finished = finished.sorted { $0.message.lease.sequence < $1.message.lease.sequence }
        let held = inFlight.beginSettling(finished.map(\.message.lease))
        return zip(finished, held).compactMap { finished, isHeld in
            // It was settled by hand, or is lost: an extension has found out.
            if !isHeld, finished.wasTried { log(finished, .leaseLost) }
            return isHeld ? finished : nil
        }
    }

    /// Settles, also for a task that is cancelled.
    ///
    /// - Throws: what the store threw, when it may pass. What it did not take is kept, and handed in again.
    func settle(_ finished: [HandlerSlots.Finished]) async throws {
        let held = stillHeld(finished)
        if held.isEmpty { return }
        let settlements = held.map { Settlement($0.message.lease, $0.verdict) }
        do {
            record(try await Task { [queue] in try await queue.storage.settle(settlements) }.value, of: held)
        } catch {
            try await settle(held, after: error)
        }
    }

    /// The store did not take these verdicts together. They go alone, so that none spoils another, unless the store takes
    /// nothing at all.
    ///
    /// - Throws: `error` or what came of another try, when it may pass.
    func settle(_ held: [HandlerSlots.Finished], after error: any Error) async throws {
        let failure = error as? PenstockError
        if held.count > 1, failure?.isOfStalledStore != true {
            var failures: [any Error] = []
            for finished in held {
                do {
                    try await settle([finished])
                } catch {
                    failures.append(error)
                }
            }
            if let last = failures.last { throw last }
        } else if failure?.mayPass == true, !inFlight.isDismissed {
            // Their leases are extended like those of handlers that run.
            for finished in held { inFlight.setExtended(true, finished.message.lease) }
            slots.keep(
                held.map { finished in
                    var finished = finished
                    finished.wasTried = true
                    return finished
                })
            throw error
        } else {
            // The leases are extended no more, and the messages come back when they end.
            inFlight.remove(held.map(\.message.lease))
            for finished in held {
                handle.logger.error(
                    "message not settled; it comes back when its lease ends",
                    metadata: holder.metadata(finished.message, error: "\(error)"))
            }
        }
    }

    func record(_ results: [SettleResult], of finished: [HandlerSlots.Finished]) {
        inFlight.remove(finished.map(\.message.lease))
        for (finished, result) in zip(finished, results) {
            if result != .leaseLost || !finished.wasTried { queue.metrics.record(finished.verdict, result) }
            log(finished, result)
        }
    }

    private func log(_ finished: HandlerSlots.Finished, _ result: SettleResult) {
        let message = finished.message
        switch (result, finished.verdict) {
        case (.leaseLost, _) where finished.wasTried:
            handle.logger.warning(
                "message was settled by an earlier try, or its lease was lost before",
                metadata: holder.metadata(message))
        case (.leaseLost, _):
            handle.logger.error(
                "message not settled; its lease was lost before", metadata: holder.metadata(message))
        case (_, .done):
            handle.logger.debug("message done", metadata: holder.metadata(message))
        case (_, .dead(_, reason: .undecodable)):
            // Said when it was found out.
            break
        case (.settled(let state), .retry(let error, _, _)), (.settled(let state), .dead(let error, _)):
            let text: Logger.Message =
                state == .dead ? "message is a dead letter" : "attempt failed; message comes back"
            handle.logger.warning(text, metadata: holder.metadata(message, error: error))
        case (_, .release):
            handle.logger.info("message given back", metadata: holder.metadata(message))
        }
    }
}
