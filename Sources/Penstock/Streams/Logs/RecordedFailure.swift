internal import Foundation
internal import PenstockCore

/// A failure that is on record: what a stream that ended in a log ends with, in every process and after every restart.
///
/// The error itself stays in the process that had it; what is kept is its type and what it says of itself.
public struct RecordedFailure: Error, Hashable, Codable, Sendable, CustomStringConvertible {
    /// The name of the error's type.
    public var type: String
    /// What the error said of itself; of a long text the end.
    public var message: String

    /// Makes a record of `error`. One that is on record already stays the same.
    public init(_ error: any Error) {
        if let recorded = error as? RecordedFailure {
            self = recorded
        } else {
            type = String(String(describing: Swift.type(of: error)).prefix(200))
            message = ErrorText.kept("\(error)")
        }
    }

    /// The message for people.
    public var description: String { message }

    /// What is said at a cursor that ends a log so.
    var note: String {
        // Two texts can always be written as JSON.
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// How a log ended that has this cursor at its end: well, unless the cursor says something.
    static func ending(of cursor: CursorRecord) -> LogEnding {
        guard let note = cursor.note else { return .finished }
        do {
            return .failed(try JSONDecoder().decode(RecordedFailure.self, from: Data(note.utf8)))
        } catch {
            // It was placed by hand.
            var failure = RecordedFailure(error)
            failure.message = note
            return .failed(failure)
        }
    }
}
