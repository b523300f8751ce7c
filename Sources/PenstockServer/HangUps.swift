import Logging
import PenstockCore
import PenstockHTTP
import UnixSignals

/// What SIGHUP means to a server: it does not end, and reads its file of tokens again, if it has one.
enum HangUps {
    /// Follows the signal until the task that is returned is cancelled.
    ///
    /// - Parameters:
    ///   - path: the file of tokens; `nil`: there is none, and the signal means nothing.
    ///   - tokens: the tokens of that file, for all who ask for one.
    static func followed(rereading path: String?, into tokens: Tokens?, _ logger: Logger) async -> Task<Void, Never> {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        return Task {
            for await _ in signals {
                if let path, let tokens { reread(path, into: tokens, logger) }
            }
        }
    }

    /// Reads the file again. One that is refused changes nothing: whoever edits it has not locked himself out.
    static func reread(_ path: String, into tokens: Tokens, _ logger: Logger) {
        do {
            tokens.become(try Tokens.read(path))
            logger.notice("The file of tokens was read again.")
        } catch {
            logger.error("The tokens stay as they were: \(error.message)")
        }
    }
}
