import PenstockCore

/// What a server reports, as what it means to people.
enum ServerFailures {
    /// The value of `body`, which works on a database.
    ///
    /// - Throws: what `body` throws, as it means to people.
    static func translating<T>(_ address: ServerAddress, _ body: () throws -> T) throws -> T {
        do { return try body() } catch { throw translated(error, address) }
    }

    /// `error` as a ``PenstockError`` about a database; errors that are one already, and cancellation, pass.
    static func translated(_ error: any Error, _ address: ServerAddress) -> any Error {
        guard let error = error as? ServerError else { return error }
        let place = address.description
        func failure(_ code: PenstockError.Code, _ message: String) -> PenstockError {
            PenstockError(code, message, cause: error)
        }
        if error.isOfOpenStore, ["28P01", "28000"].contains(error.state) {
            // It was let in before: a password is being changed, say, and the next try reads ~/.pgpass again.
            return failure(
                .unreachable,
                "\(place) does not let this user in any more (\(error.message)), and nothing was done; look at the user, PGPASSWORD and "
                    + "~/.pgpass.")
        }
        switch (error.errorClass, error.state) {
        case (_, "28P01"), (_, "28000"):
            return failure(
                .forbidden,
                "\(place) does not let this user in (\(error.message)); look at the user, PGPASSWORD and ~/.pgpass.")
        case (_, "53300"):
            return failure(
                .unreachable,
                "\(place) takes no more connections (\(error.message)), and nothing was done; end some, or let it have more."
            )
        case (_, "42501"):
            return failure(
                .forbidden,
                "The user may not do that at \(place) (\(error.message)); grant the role the right, or let one do it that has it."
            )
        case (_, "3D000"):
            return failure(.notFound, "There is no such database at \(place) (\(error.message)); createdb makes one.")
        case (_, ServerError.readOnlyTransaction):
            return failure(.readOnly, "\(place) is a standby, or only to be read; connect to the primary.")
        case (_, "53100"):
            return failure(
                .diskFull,
                "No room is left on the disk of \(place); make room, and try again: what was not acknowledged was not stored."
            )
        case (_, "55P03"), (_, "40P01"), (_, "40001"):
            return failure(
                .busy, "Another program holds the tables of \(place) and does not let go; end its transaction.")
        case ("23", _):
            var contradiction = failure(
                .corrupt, "\(place) contradicts itself (\(error.message)); the call that met it changed nothing.")
            contradiction.contradiction = error.message
            return contradiction
        case (_, "42P01"), (_, "42703"), (_, "42883"), (_, "3F000"):
            return failure(
                .corrupt, "\(place) has lost a part of its schema (\(error.message)); restore it from a copy.")
        case ("XX", _):
            return failure(.corrupt, "\(place) is damaged (\(error.message)); see to the server before anything else.")
        case (nil, _) where error.message.contains("hot standby") && address.hosts.isEmpty:
            // libpq's word, too, which is English unless the program has asked for another language.
            return failure(
                .unreachable,
                "\(place) is a standby, where nothing can be changed, and nothing was done; connect to the primary, or name both as hosts of "
                    + "the address.")
        case (nil, _) where error.message.hasPrefix("invalid "):
            // libpq's own word about a parameter, before it connects.
            return failure(.invalidInput, "The address of \(place) cannot be used: \(error.message).")
        case ("08", _), ("57", _), ("53", _), (nil, _):
            return failure(.unreachable, "\(place) cannot be reached (\(error.message)); nothing was done.")
        default:
            return failure(.storage, "The server of \(place) reported an error: \(error.message).")
        }
    }

    /// That nobody knows what came of a call.
    static func unknown(_ address: ServerAddress, _ cause: (any Error)?) -> PenstockError {
        // A server that does not let this process in once more, to ask it, has not gone away.
        let refusal = (cause as? ServerError).flatMap { ["28", "53"].contains($0.errorClass) ? $0.message : nil }
        let asked = refusal.map { "could not be asked whether the call is on its disk (\($0))" }
        let why = asked ?? "went away before it answered"
        return PenstockError(
            .outcomeUnknown,
            "The server of \(address.description) \(why), and nobody knows whether the call took effect; look whether its messages are "
                + "there before you make it again.",
            cause: cause)
    }
}
