public import GRDB
public import PenstockCore

/// A type whose values are messages of one kind, as JSON, in a queue that has several kinds.
///
/// A ``Worker`` with ``Handlers`` chooses the handler by the kind. Messages outlive the program that enqueued them: what a later
/// version of the type reads must be what an earlier one wrote, and ``kind`` must stay.
///
/// ```swift
/// struct Welcome: MessageKind {
///     static let kind = "welcome"
///     var user: Int
/// }
/// ```
public protocol MessageKind: Codable, Sendable {
    /// By what name messages of this type are known: see `KindName`. No two types of one queue may have the same.
    static var kind: String { get }
}

extension MessageKind {
    /// The type's own name, without those of its module and of the types around it.
    public static var kind: String { String(describing: Self.self) }
}

/// Messages of several kinds in one queue of bytes.
extension Queue where Element == [UInt8] {
    /// Puts a message of a kind in line.
    ///
    /// It does as ``enqueue(_:options:durability:timeout:)-(Element,_,_,_)``. The kind is the type's, whatever the options say.
    @discardableResult
    public func enqueue<Kind: MessageKind>(
        _ message: Kind,
        options: EnqueueOptions = EnqueueOptions(),
        durability: Durability? = nil,
        timeout: Duration? = nil
    ) async throws -> Receipt {
        try await enqueue(
            payload(of: message), options: options.of(Kind.self), durability: durability, timeout: timeout)
    }

    /// Puts a message of a kind in line within an application's own transaction.
    ///
    /// It does as ``enqueue(_:options:in:)-(Element,_,_)``. The kind is the type's, whatever the options say.
    @discardableResult
    public func enqueue<Kind: MessageKind>(
        _ message: Kind, options: EnqueueOptions = EnqueueOptions(), in database: Database
    ) throws -> Receipt {
        try enqueue(payload(of: message), options: options.of(Kind.self), in: database)
    }

    /// A message of a kind, for ``Delivery/done(then:timeout:)``.
    ///
    /// It does as ``draft(_:options:)-(Element,_)``. The kind is the type's, whatever the options say.
    public func draft<Kind: MessageKind>(
        _ message: Kind, options: EnqueueOptions = EnqueueOptions()
    ) throws -> Draft {
        try draft(payload(of: message), options: options.of(Kind.self))
    }

    private func payload<Kind: MessageKind>(of message: Kind) throws -> [UInt8] {
        try JSONCodec<Kind>().encode(message)
    }
}

extension EnqueueOptions {
    fileprivate func of(_ type: (some MessageKind).Type) -> EnqueueOptions {
        var options = self
        options.kind = type.kind
        return options
    }
}
