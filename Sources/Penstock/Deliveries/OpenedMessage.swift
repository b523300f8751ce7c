internal import Logging
internal import PenstockCore

extension Queue {
    /// A claimed message with its payload decoded.
    ///
    /// - Throws: what the codec throws, after telling of it. The caller makes the message a dead letter.
    func decoded(_ message: ClaimedMessage, by holder: LeaseHolder) throws -> Delivery<Element> {
        do {
            return Delivery(message, payload: try codec.decode(message.payload), holder: holder)
        } catch {
            handle.logger.warning(
                "payload cannot be decoded; the message is a dead letter",
                metadata: holder.metadata(message, error: "\(error)"))
            throw error
        }
    }

    /// A claimed message with its payload decoded; `nil` when it cannot be, and is a dead letter now.
    func opened(
        _ message: ClaimedMessage, by holder: LeaseHolder, isolation: isolated (any Actor)? = #isolation
    ) async throws -> Delivery<Element>? {
        do {
            return try decoded(message, by: holder)
        } catch {
            do {
                try await holder.settleWhileHeld(message.lease, .dead(error: "\(error)", reason: .undecodable))
            } catch let error as PenstockError where error.code == .leaseLost {
                // Somebody was faster, by hand. It is not this reader's any more.
            }
            return nil
        }
    }
}
