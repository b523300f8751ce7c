import Crypto
import Foundation
package import PenstockCore
import Synchronization

/// The tokens that a server knows.
///
/// A line of their file is a token: its name, the token itself, its scopes with commas between them and, if it is not for all,
/// its queues. Empty lines and lines that begin with `#` say nothing.
///
/// ```
/// ops    6rQmB1xF0uYw9dNeT2kV  read,operate
/// shop   Jp3sZ8vLq5tGh7cXa1Wn  produce      orders,mail-*
/// ```
package struct Tokens: Sendable {
    /// Characters that a token has at least.
    package static let tokenCharactersMin = 16
    /// Characters that a token has: those that a cookie may (RFC 6265, `cookie-octet`), as browsers keep it in one.
    private static let tokenCharacters = Set(UInt8(0x21)...0x7E).subtracting("\",;\\".utf8)
    private static let fileBytesMax = 1024 * 1024

    package struct Token: Sendable {
        package var principal: Principal
        /// What its holder shows, or signs with.
        package var secret: String
        fileprivate var digest: SHA256.Digest
    }

    /// Those that are known now. All copies share them, so that the listeners and faces of a server change together.
    private let known: Known

    private final class Known: Sendable {
        struct State {
            var tokens: [Token]
            var calls: [Int: @Sendable () -> Void] = [:]
            var callCount = 0
        }

        let state: Mutex<State>

        init(_ tokens: [Token]) { state = Mutex(State(tokens: tokens)) }
    }

    private var tokens: [Token] { known.state.withLock { $0.tokens } }

    /// Reads a file of tokens.
    ///
    /// - Throws: `PenstockError` with code `notFound`; `invalidInput` when others may read the file, or a line is no token.
    package static func read(_ path: String) throws(PenstockError) -> Tokens {
        try require(!path.isEmpty, "The path of a file of tokens cannot be empty; name a file.")
        // A secret that Kubernetes mounts is a symbolic link, whose own mode says nothing.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file),
            let bytes = (attributes[.size] as? NSNumber)?.intValue
        else { throw PenstockError(.notFound, "There is no file of tokens at \(path), or it cannot be read.") }
        try require(
            attributes[.type] as? FileAttributeType == .typeRegular,
            "\(path) is no file of tokens, but a folder or a device; name a file.")
        let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0o777
        try require(
            mode & 0o077 == 0, "Others may read the file of tokens \(path); `chmod 600` it, and make new tokens.")
        try require(bytes <= fileBytesMax, "The file of tokens \(path) has more than \(fileBytesMax) bytes.")
        guard let data = FileManager.default.contents(atPath: file), let text = String(validating: data, as: UTF8.self)
        else { throw PenstockError(.invalidInput, "The file of tokens \(path) cannot be read, or is not UTF-8.") }
        return try Tokens(text)
    }

    /// Takes tokens as a file has them.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` that names the line.
    package init(_ text: String) throws(PenstockError) {
        var tokens: [Token] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            func refuse(_ why: String) -> PenstockError {
                PenstockError(.invalidInput, "Line \(index + 1) of the file of tokens \(why).")
            }
            guard (3...4).contains(words.count) else {
                throw refuse("is to have a name, a token, scopes and perhaps queues")
            }
            guard words[1].count >= Self.tokenCharactersMin else {
                throw refuse("has a token of fewer than \(Self.tokenCharactersMin) characters")
            }
            guard words[1].utf8.allSatisfy(Self.tokenCharacters.contains) else {
                throw refuse(
                    "has a token with a character that it may not have; it has characters of ASCII, and of those neither "
                        + "quotes nor commas, semicolons or backslashes")
            }
            var scopes: Set<Scope> = []
            // A blank behind a comma makes of a scope the name of a queue.
            let parts = words[2...].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
            guard !parts.joined().contains("") else {
                throw refuse("has a comma with nothing before or behind it; a list has commas and no blanks")
            }
            for word in parts[0] {
                guard let scope = Scope(rawValue: word) else {
                    let known = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                    throw refuse("has a scope that there is not; the scopes are \(known)")
                }
                scopes.insert(scope)
            }
            guard parts.count == 1 || parts[1].allSatisfy({ !$0.dropLast().contains("*") }) else {
                throw refuse("has a * within the name of a queue; it can stand at its end")
            }
            let queues = parts.count == 2 ? parts[1].map { QueuePattern($0) } : nil
            guard !tokens.contains(where: { $0.principal.name == name || $0.secret == words[1] }) else {
                throw refuse("has the name or the token of another line")
            }
            tokens.append(
                Token(
                    principal: Principal(name: name, scopes: scopes, queues: queues), secret: words[1],
                    digest: SHA256.hash(data: Array(words[1].utf8))))
        }
        try require(!tokens.isEmpty, "There is no token in the file of tokens.")
        known = Known(tokens)
    }

    /// Takes the tokens of `others` instead of its own, in all copies.
    package func become(_ others: Tokens) {
        let tokens = others.tokens
        let calls = known.state.withLock { state in
            state.tokens = tokens
            return Array(state.calls.values)
        }
        for call in calls { call() }
    }

    /// Has `call` called each time that the tokens have become others.
    ///
    /// - Returns: what to ``forget(_:)``.
    package func whenChanged(_ call: @escaping @Sendable () -> Void) -> Int {
        known.state.withLock { state in
            state.callCount += 1
            state.calls[state.callCount] = call
            return state.callCount
        }
    }

    /// Calls it no more.
    package func forget(_ id: Int) {
        _ = known.state.withLock { $0.calls.removeValue(forKey: id) }
    }

    /// The principal that shows `secret`; `nil`: nobody does.
    ///
    /// Digests are compared, each with every byte (`Digest` of swift-crypto does so), and all of them: how long it takes says
    /// nothing of how near a guess was.
    package func principal(showing secret: String) -> Principal? {
        let shown = SHA256.hash(data: Array(secret.utf8))
        var found: Principal?
        for token in tokens where token.digest == shown { found = token.principal }
        return found
    }

    /// The token of that name, for requests that are signed with it.
    package func token(named name: String) -> Token? { tokens.first { $0.principal.name == name } }
}
