import Foundation
import NIOCore
import NIOHTTP1
import PenstockCore

/// An answer of a server that has not carried out a call of its store: a problem as RFC 9457 has it.
struct Refusal {
    private struct Problem: Decodable {
        var code: String
        var detail: String
    }

    let status: Int
    private let problem: Problem

    /// - Returns: `nil` when it is no server's of ours.
    init?(status: Int, headers: HTTPHeaders, body: ByteBuffer) {
        guard headers.first(name: "content-type")?.hasPrefix("application/problem+json") == true,
            let problem = try? JSONDecoder().decode(Problem.self, from: Data(body.readableBytesView))
        else { return nil }
        self.status = status
        self.problem = problem
    }

    func error(at url: ServerURL) -> PenstockError {
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
                .wrongRelease, "The server at \(url) is of another release of Penstock; use the same one on both sides."
            )
        // The server is about to stop, and has begun nothing.
        case 503 where problem.code == PenstockError.Code.closed.rawValue:
            return PenstockError(.unreachable, "The server at \(url) is about to stop, and nothing was done.")
        case 403, 413, 400: return PenstockError(code ?? .invalidInput, problem.detail)
        default: return PenstockError(code ?? .storage, problem.detail)
        }
    }

    /// The problem's code, where it is one of those that such an answer has.
    private var code: PenstockError.Code? {
        let known: Set<PenstockError.Code> = [
            .invalidInput, .readOnly, .storeMoved, .fileReplaced, .busy, .diskFull, .outcomeUnknown, .unreachable,
            .corrupt,
        ]
        let code = PenstockError.Code(rawValue: problem.code)
        return known.contains(code) ? code : nil
    }
}
