internal import Logging
internal import PenstockCore

extension Shift {
    /// Those whose handler has not settled by itself, in the order of the log: a store moves neighbours together.
    func stillHeld(_ finished: [Workbench.Finished]) -> [Workbench.Finished] {
        let finished = finished.sorted { $0.message.lease.sequence < $1.message.lease.sequence }
        let held = inFlight.beginSettling(finished.map(\.message.lease))
        return zip(finished, held).compactMap { $1 ? $0 : nil }
    }

    /// Settles, also for a task that is cancelled: together or, when that fails, each alone, so that none spoils another.
    func settle(_ finished: [Workbench.Finished]) async {
        let held = stillHeld(finished)
        if held.isEmpty { return }
        let settlements = held.map { Settlement($0.message.lease, $0.verdict) }
        do {
            record(try await Task { [queue] in try await queue.storage.settle(settlements) }.value, of: held)
        } catch  where held.count > 1 {
            for finished in held { await settle([finished]) }
        } catch {
            // The lease is extended no more, and the message comes back when it ends.
            inFlight.remove(settlements.map(\.lease))
            handle.logger.error(
                "message not settled; it comes back when its lease ends",
                metadata: metadata(held[0].message, error: "\(error)"))
        }
    }

    func record(_ results: [SettleResult], of finished: [Workbench.Finished]) {
        inFlight.remove(finished.map(\.message.lease))
        for (finished, result) in zip(finished, results) {
            queue.metrics.record(finished.verdict, result)
            log(finished, result)
        }
    }

    private func log(_ finished: Workbench.Finished, _ result: SettleResult) {
        let message = finished.message
        switch (result, finished.verdict) {
        case (.leaseLost, _):
            handle.logger.error(
                "message not settled; its lease was lost before", metadata: metadata(message))
        case (_, .done):
            handle.logger.debug("message done", metadata: metadata(message))
        case (_, .dead(_, reason: .undecodable)):
            // Said when it was found out.
            break
        case (.settled(let state), .retry(let error, _, _)), (.settled(let state), .dead(let error, _)):
            let text: Logger.Message =
                state == .dead ? "message is a dead letter" : "attempt failed; message comes back"
            handle.logger.warning(text, metadata: metadata(message, error: error))
        case (_, .release):
            handle.logger.info("message given back", metadata: metadata(message))
        }
    }

    func metadata(_ message: ClaimedMessage, error: String? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "queue": "\(queue.name)", "sequence": "\(message.lease.sequence)", "attempt": "\(message.attempt)",
        ]
        if let error { metadata["error"] = "\(error)" }
        return metadata
    }
}
