internal import Logging
internal import PenstockCore

extension Queue {
    /// A claimed message with its payload decoded; `nil` when it cannot be, and is a dead letter now.
    func opened(
        _ message: ClaimedMessage, by holder: LeaseHolder, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Delivery<Element>? {
        let payload: Element
        do {
            payload = try codec.decode(message.payload)
        } catch {
            handle.logger.warning(
                "payload cannot be decoded; the message is a dead letter",
                metadata: ["queue": "\(name)", "sequence": "\(message.lease.sequence)", "error": "\(error)"])
            do {
                try await holder.settleWhileHeld(message.lease, .dead(error: "\(error)", reason: .undecodable))
            } catch let error as PenstockError where error.code == .leaseLost {
                // Somebody was faster, by hand. It is not this reader's any more.
            }
            return nil
        }
        return Delivery(message, payload: payload, holder: holder)
    }
}
