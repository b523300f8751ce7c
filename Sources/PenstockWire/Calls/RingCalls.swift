package import PenstockCore

/// What a client waits for at a server: that a queue rings there. It goes in a body of its own, to a path of its own.
package struct RingWait: WireValue {
    package var bucket: Int
    package var bell: Bell
    /// The last ring there that the client knows of: 0 before the first.
    package var after: UInt64
    /// The server that has counted it: ``RingAnswer/server``. 0: none yet.
    package var server: UInt64
    /// How many messages the tasks can take that wait for work, ``PenstockCore/Limits/batchCountMax`` at most.
    package var room: Int
    /// Whether the client was woken for messages that it does not take: others are to be woken for them.
    package var passesOn: Bool

    package init(bucket: Int, bell: Bell, after: UInt64, server: UInt64, room: Int, passesOn: Bool = false) {
        self.bucket = bucket
        self.bell = bell
        self.after = after
        self.server = server
        self.room = min(room, Limits.batchCountMax)
        self.passesOn = passesOn
    }

    package func write(to writer: inout WireWriter) { writer(bucket, bell, after, server, room, passesOn) }

    package init(from reader: inout WireReader) throws {
        try self.init(
            bucket: reader(), bell: reader(), after: reader(), server: reader(), room: reader(), passesOn: reader())
        guard (0..<RingBucket.count).contains(bucket), room >= 0 else { throw PenstockError.noWireValue }
    }
}

extension Bell: WireCase {}

/// How a wait has ended.
package struct RingAnswer: WireValue {
    /// Whether it rang; otherwise the time was over.
    package var isRung: Bool
    /// The number of the last ring there.
    package var ring: UInt64
    /// Tells one start of one server from others: each counts from 0.
    package var server: UInt64
    /// How long one may rely on rings before looking, as the server's store has it.
    package var lookInterval: Duration
    /// Which store the server has; `nil`: it does not know.
    package var store: StoreID?

    package init(isRung: Bool, ring: UInt64, server: UInt64, lookInterval: Duration, store: StoreID?) {
        self.isRung = isRung
        self.ring = ring
        self.server = server
        self.lookInterval = lookInterval
        self.store = store
    }

    package func write(to writer: inout WireWriter) { writer(isRung, ring, server, lookInterval, store) }

    package init(from reader: inout WireReader) throws {
        try self.init(isRung: reader(), ring: reader(), server: reader(), lookInterval: reader(), store: reader())
    }
}
