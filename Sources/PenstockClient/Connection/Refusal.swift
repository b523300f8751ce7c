import Foundation
import NIOCore
import PenstockCore

/// An answer of a server that has not carried out a call of its store: a problem as RFC 9457 has it, or another program's words.
struct Refusal {
    private struct Problem: Decodable {
        var code: String
        var detail: String
    }

    let status: Int
    private let problem: Problem?

    init(status: Int, body: ByteBuffer) {
        self.status = status
        problem = try? JSONDecoder().decode(Problem.self, from: Data(body.readableBytesView))
    }

    /// The error that a caller of the store gets.
    func error(at url: ServerURL) -> PenstockError {
        guard let problem else {
            return PenstockError(
                .invalidInput,
                "What answers at \(url), with status \(status), is no Penstock server of this release; is it the right address?"
            )
        }
        switch status {
        case 401:
            return PenstockError(
                .forbidden,
                "The server at \(url) asks for a token, and was shown none that it knows; give it one in PENSTOCK_TOKEN."
            )
        case _ where problem.code == PenstockError.Code.forbidden.rawValue:
            return PenstockError(.forbidden, problem.detail)
        case 404, 405, 415:
            return PenstockError(
                .invalidInput, "The server at \(url) is of another release of Penstock; use the same one on both sides."
            )
        // The server is about to stop, and has begun nothing.
        case 503 where problem.code == PenstockError.Code.closed.rawValue:
            return PenstockError(.unreachable, "The server at \(url) is about to stop, and nothing was done.")
        case 403, 413, 400: return PenstockError(code(of: problem) ?? .invalidInput, problem.detail)
        default: return PenstockError(code(of: problem) ?? .storage, problem.detail)
        }
    }

    /// The problem's code, where it is one of ours.
    private func code(of problem: Problem) -> PenstockError.Code? {
        switch problem.code {
        case PenstockError.Code.invalidInput.rawValue: .invalidInput
        case PenstockError.Code.readOnly.rawValue: .readOnly
        case PenstockError.Code.busy.rawValue: .busy
        case PenstockError.Code.diskFull.rawValue: .diskFull
        case PenstockError.Code.outcomeUnknown.rawValue: .outcomeUnknown
        default: nil
        }
    }
}
