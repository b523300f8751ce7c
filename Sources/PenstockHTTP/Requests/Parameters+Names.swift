import Foundation
package import Hummingbird
package import PenstockCore

extension ServerContext {
    /// The queue that the path names, in which the client may do that.
    package func queue(for scope: Scope) throws(Problem) -> QueueName {
        let queue = try parameters.queue()
        try principal.require(scope, queue)
        return queue
    }
}

extension Parameters {
    /// The queue that the path names.
    ///
    /// - Throws: a problem with status 400 when it is no queue's name.
    package func queue() throws(Problem) -> QueueName {
        let text = try name("queue")
        do { return try QueueName(text) } catch { throw Problem(error) }
    }

    /// The message that the path names.
    package func sequence() throws(Problem) -> SequenceNumber {
        guard let number = Int64(try text("sequence")), number > 0 else {
            throw Problem.invalid("A message is named by its sequence number, a whole number from 1.")
        }
        return SequenceNumber(number)
    }

    /// The name of something in the store that the path has. One of dots alone may have a space before it, as browsers and other
    /// clients take one or two dots for a way up, escaped or not. No name begins with a space.
    package func name(_ name: String) throws(Problem) -> String {
        let text = try text(name)
        return text.first == " " && text.dropFirst().allSatisfy { $0 == "." } ? String(text.dropFirst()) : text
    }

    /// A part of the path, as it was before it was escaped.
    package func text(_ name: String) throws(Problem) -> String {
        let part = get(name)
        let isRead = part.map { !$0.hasReplacements } ?? false
        if isRead, let part, !part.utf8.contains(UInt8(ascii: "%")) { return part }
        guard isRead, let text = part?.removingPercentEncoding else {
            throw Problem.invalid("A part of the path is not UTF-8, escaped as RFC 3986 has it.")
        }
        return text
    }
}
