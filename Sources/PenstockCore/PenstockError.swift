/// Everything Penstock throws, but for `CancellationError`.
public struct PenstockError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, as a value to switch over. New ones may come: keep a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name.
        public let rawValue: String

        /// Makes the code `rawValue`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// An argument that cannot be: an empty name, a payload beyond the limit. Nothing was done.
        public static let invalidInput = Code(rawValue: "invalidInput")
        /// There is no cursor of that name in the queue's log.
        public static let unknownCursor = Code(rawValue: "unknownCursor")
        /// There is no schedule of that name.
        public static let unknownSchedule = Code(rawValue: "unknownSchedule")
        /// There is a schedule of that name already.
        public static let scheduleExists = Code(rawValue: "scheduleExists")
        /// There is no limit of that name that queues share.
        public static let unknownLimit = Code(rawValue: "unknownLimit")
        /// There is no workflow of that name.
        public static let unknownWorkflow = Code(rawValue: "unknownWorkflow")
        /// The workflow has no task of that name.
        public static let unknownTask = Code(rawValue: "unknownTask")
        /// There is no queue of that name.
        public static let unknownQueue = Code(rawValue: "unknownQueue")
        /// There is a queue of that name already.
        public static let queueExists = Code(rawValue: "queueExists")
        /// The queue is being deleted, or is copied here and not all of it has come, and takes no messages. Nothing of the call was done.
        public static let queueDeleting = Code(rawValue: "queueDeleting")
        /// The store's queues have moved to another store, or are about to (`penstock copy`). Nothing of the call was done, and reading goes
        /// on; the message says where they went, and how the store is opened again.
        public static let storeMoved = Code(rawValue: "storeMoved")
        /// The queue's policy is not the one that was to be replaced: somebody has changed it meanwhile.
        public static let policyChanged = Code(rawValue: "policyChanged")
        /// More messages match than were expected. Nothing was changed.
        public static let selectionChanged = Code(rawValue: "selectionChanged")
        /// There is no message with that sequence number.
        public static let unknownMessage = Code(rawValue: "unknownMessage")
        /// The queue is full and its policy is `fail`. Nothing of the call was enqueued.
        public static let queueFull = Code(rawValue: "queueFull")
        /// The queue was full, or the message had not ended, for as long as the caller cared to wait.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The lease ended or was taken away. The settle changed nothing.
        public static let leaseLost = Code(rawValue: "leaseLost")
        /// The message is in a state from which that step does not exist.
        public static let illegalTransition = Code(rawValue: "illegalTransition")
        /// The message whose result was asked for is a dead letter.
        public static let messageDead = Code(rawValue: "messageDead")
        /// The message whose result was asked for was cancelled.
        public static let messageCancelled = Code(rawValue: "messageCancelled")
        /// The message whose result was asked for was dropped, as its queue was full or it had expired.
        public static let messageDropped = Code(rawValue: "messageDropped")
        /// The payload cannot be turned into the type that was asked for, or went through a codec that is not there.
        public static let undecodable = Code(rawValue: "undecodable")
        /// There is no file at that path, or no folder, or it has none of Penstock's tables; or the system has no data of time zones.
        public static let notFound = Code(rawValue: "notFound")
        /// There is a file at that path already, and it is left as it is.
        public static let fileExists = Code(rawValue: "fileExists")
        /// The file is not an SQLite database, or not one of Penstock's.
        public static let notADatabase = Code(rawValue: "notADatabase")
        /// The file's schema is newer than this program knows.
        public static let newerSchema = Code(rawValue: "newerSchema")
        /// The file's schema is older than this program reads, or older than its own where it was told not to migrate;
        /// `penstock migrate` brings it up to date.
        public static let olderSchema = Code(rawValue: "olderSchema")
        /// The server of the store is of another release than this program. Nothing was done.
        public static let wrongRelease = Code(rawValue: "wrongRelease")
        /// The file was removed, renamed or replaced while it was open, by this program or by one that has left its write-ahead log; or
        /// there is another store at the server now. Close the store, move such a log away, and open the path again.
        public static let fileReplaced = Code(rawValue: "fileReplaced")
        /// The file, or its folder, cannot be written or read, or it was opened only to be read.
        public static let readOnly = Code(rawValue: "readOnly")
        /// No room is left on the disk. What was not acknowledged was not stored.
        public static let diskFull = Code(rawValue: "diskFull")
        /// The file is damaged.
        public static let corrupt = Code(rawValue: "corrupt")
        /// Another program held the file longer than Penstock waits.
        public static let busy = Code(rawValue: "busy")
        /// Nobody knows whether the call took effect. It was handed to the disk, or to another process that writes for this
        /// one, and no answer came. Look for what the call would have written before you make it again. With a unique key
        /// the same enqueue can be made again: while the first message waits or runs, no second one is put in line.
        public static let outcomeUnknown = Code(rawValue: "outcomeUnknown")
        /// The server of the store cannot be reached, or is about to stop. Nothing was done.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The server of the store does not allow that to whoever shows this token, or shows none. Nothing was done.
        public static let forbidden = Code(rawValue: "forbidden")
        /// The store was closed.
        public static let closed = Code(rawValue: "closed")
        /// Anything else that the storage reported.
        public static let storage = Code(rawValue: "storage")
    }

    /// What went wrong.
    public var code: Code
    /// One sentence for people: what is wrong and, where there is something, what to do.
    public var message: String
    /// The error underneath, if there is one.
    public var cause: (any Error)?
    /// What a call that enqueues several messages has put in line before it failed: the first ones, in their order. Empty
    /// but for a full queue whose policy is `wait`, where messages go in as there is room. The others are not in line,
    /// but for `outcomeUnknown`: then nobody knows of any after these.
    public var receipts: [Receipt] = []
    /// The database's own words, where what was to be written contradicts what is there; `nil`: something else went wrong.
    package var contradiction: String?
    /// Whether only a store that is opened anew has another answer, whatever others of this code may have: its disk has lost nobody knows what.
    package var needsReopening = false

    /// Makes an error.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Whether the store had no answer for anybody: somebody else holds it, its disk is full, its server is not there, or nobody
    /// knows. It is no fault of the call, which may be made again.
    package var isOfStalledStore: Bool {
        switch code {
        case .busy, .diskFull, .outcomeUnknown, .unreachable: true
        default: false
        }
    }

    /// Whether the same call may succeed later though nobody does anything about the program or its file.
    package var mayPass: Bool { (isOfStalledStore || code == .storage) && !needsReopening }

    /// Whether the store can take nothing before an operator sees to its file, or its program opens it again. It is no fault of the call either.
    package var isOfUnusableStore: Bool {
        switch code {
        case .corrupt, .notADatabase, .newerSchema, .wrongRelease, .readOnly, .fileReplaced, .closed: true
        default: needsReopening
        }
    }

    /// Tells of what a call of several steps had done when one of them failed: what the error says of nothing is said of that step.
    package mutating func tell(_ sentence: String) {
        message.replace("nothing was done", with: "nothing more was done")
        message += " \(sentence)"
    }

    /// Tells what was done to so many messages, such as `moved`.
    package mutating func tell(of count: Int, _ what: String) {
        tell("\(count == 1 ? "1 message was" : "\(count) messages were") \(what) before.")
    }

    /// The message for people.
    public var description: String { message }
}

/// Throws ``PenstockError`` with code `invalidInput` and that message unless `isValid`.
@inline(__always)
package func require(_ isValid: Bool, _ message: @autoclosure () -> String) throws(PenstockError) {
    if !isValid { throw PenstockError(.invalidInput, message()) }
}
