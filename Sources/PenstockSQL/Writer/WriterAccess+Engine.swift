extension WriterAccess {
    /// What differs from engine to engine.
    package struct Engine {
        /// How long a call waits for the right to write before its caller is told.
        let busyMax: Duration
        /// Whether other processes' calls travel in this store's transactions, and the other way round.
        let sharesTransactions: Bool
        /// How long the writer lock is waited for, where it only spares the server work and the server says itself who may write;
        /// `nil`: nobody writes without the lock.
        let lockWaitMax: Duration?
        /// How long the thread has waited.
        let timings: WriteTimings
        /// Throws when what was opened is no longer there.
        let requireStill: () throws -> Void
        /// What the process that has carried a request out says that it gave; `nil`: its word does not do.
        let readTold: (_ bytes: [UInt8]) -> [UInt8]?
        /// Reads from the database what a request gave; `nil`: it is not carried out, or not yet.
        let readAnswer: (Request) throws -> [UInt8]?
        /// The same once no other process can take it any more. Called with the lock or, where that is waited for no longer, without.
        let decideAnswer: (Request) throws -> [UInt8]?

        package init(
            busyMax: Duration, sharesTransactions: Bool, lockWaitMax: Duration? = nil,
            timings: WriteTimings, requireStill: @escaping () throws -> Void,
            readTold: @escaping (_ bytes: [UInt8]) -> [UInt8]? = { $0 },
            readAnswer: @escaping (Request) throws -> [UInt8]?,
            decideAnswer: @escaping (Request) throws -> [UInt8]?
        ) {
            self.busyMax = busyMax
            self.sharesTransactions = sharesTransactions
            self.lockWaitMax = lockWaitMax
            self.timings = timings
            self.requireStill = requireStill
            self.readTold = readTold
            self.readAnswer = readAnswer
            self.decideAnswer = decideAnswer
        }
    }
}
