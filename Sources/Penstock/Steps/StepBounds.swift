internal import PenstockCore

/// What a message may keep of its steps, looked at before a step has an effect where that can be known.
extension StepRecord {
    /// Throws `PenstockError` with code `invalidInput` when a message that keeps so much can keep no more of any step.
    ///
    /// - Parameter count: how many steps it would have with this one, and those that run now.
    static func validateRoom(count: Int, bytes: Int) throws(PenstockError) {
        try validate(count: count, bytes: bytes + 1)
    }

    /// Throws ``Reject`` when a message cannot keep what a step gave. The step has had its effect and would give as much again,
    /// so no attempt can help.
    static func validateGiven(_ result: [UInt8], bytesBefore: Int) throws {
        do {
            try validate(result)
            try validate(count: 1, bytes: bytesBefore + result.count)
        } catch {
            throw Reject(error.message)
        }
    }
}

extension StepJournal {
    /// What the step `name` gave, as bytes.
    ///
    /// - Throws: ``Reject`` when it cannot be written: the step has done its work, and would do it again in each attempt.
    static func encode(_ value: some Encodable, of name: String) throws -> [UInt8] {
        do {
            return try ResultCodec.encode(value)
        } catch {
            throw Reject("What the step '\(name)' gave cannot be written as JSON: \(error)")
        }
    }
}
