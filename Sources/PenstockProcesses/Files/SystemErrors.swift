import Foundation
package import PenstockCore

/// What the operating system reports, as what it means to people.
package enum SystemErrors {
    /// Whether a look at a place, which has just failed, found nothing there. A place that cannot be looked at for the moment, as its folder
    /// may not be entered or its disk does not answer, says nothing of a file that is open.
    package static var isNothingThere: Bool { errno == ENOENT || errno == ENOTDIR }

    /// An error that says `what` could not be done, and why by `number`, an `errno`.
    package static func failure(_ what: String, _ number: Int32) -> PenstockError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOENT, ENOTDIR:
            return PenstockError(.notFound, "\(what) (\(reason)); make its folder first.")
        case ENOSPC, EDQUOT:
            return PenstockError(.diskFull, "\(what) (\(reason)); make room on its disk.")
        case EACCES, EPERM, EROFS:
            return PenstockError(.readOnly, "\(what) (\(reason)); check the permissions of file and folder.")
        default:
            return PenstockError(.storage, "\(what) (\(reason)).")
        }
    }
}
