import Hummingbird
import Logging
import PenstockCore
import PenstockHTTP

extension Visit {
    /// Throws a problem with status 403 when the visitor may not do that here: for pages that are nothing but a form.
    func requireAct(_ scope: PenstockHTTP.Scope, _ queue: QueueName?) throws(Problem) {
        if site.isReadOnly { throw Problem(.forbidden, code: "readOnly", "This server changes nothing.") }
        try principal.require(scope, queue)
    }

    /// Carries out an act, written down before it happens and after it has.
    ///
    /// - Parameters:
    ///   - name: what is done, in a word or two: "redrive".
    ///   - subject: what it is done to, for people.
    ///   - queue: the queue that it is done to; `nil`: it belongs to no one queue.
    ///   - scope: what the visitor has to be allowed.
    ///   - carryOut: does it, and says in a sentence what was done.
    /// - Returns: that sentence.
    /// - Throws: a problem with status 403 when the visitor may not, or nobody may; what `carryOut` throws.
    func act(
        _ name: String, on subject: String, queue: QueueName?, _ scope: PenstockHTTP.Scope,
        _ carryOut: () async throws -> String
    ) async throws -> String {
        // The door refuses acts where nothing may be changed; this holds also should another door be built.
        try requireAct(scope, queue)
        let entry = try await site.audit.began(name, on: subject, queue: queue, by: principal.name)
        do {
            let said = try await carryOut()
            await note(entry, said, isDone: true)
            return said
        } catch {
            await note(entry, Problem(known: error, advice: .pages)?.detail ?? "It failed.", isDone: false)
            throw error
        }
    }

    /// The act has happened, or not, whatever becomes of the note.
    private func note(_ entry: SequenceNumber, _ outcome: String, isDone: Bool) async {
        do {
            try await site.audit.ended(entry, outcome, isDone: isDone)
        } catch {
            context.logger.error("What came of act \(entry) could not be written down: \(error)")
        }
    }
}
