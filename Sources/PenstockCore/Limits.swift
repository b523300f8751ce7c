/// The bound of everything that could grow. Input beyond one of them is refused, with its name.
public enum Limits {
    /// Bytes in a queue's name.
    public static let queueNameBytesMax = 200
    /// Bytes in one payload: 16 MiB. Larger things belong in a file, and its path in the payload.
    public static let payloadBytesMax = 16 * 1024 * 1024
    /// Messages in one call of `enqueue`, and in one claim.
    public static let batchCountMax = 10_000
    /// Payload bytes in one call of `enqueue`.
    public static let batchBytesMax = 64 * 1024 * 1024
    /// Headers on one message.
    public static let headerCountMax = 64
    /// Bytes in a header's name.
    public static let headerNameBytesMax = 100
    /// Bytes of all header names and values of one message.
    public static let headerBytesMax = 16 * 1024
    /// Bytes in a unique key.
    public static let uniqueKeyBytesMax = 500
    /// Bytes in the key of a group.
    public static let groupKeyBytesMax = 500
    /// How many messages of one group may be leased at the same time.
    public static let groupLimitRange = 1...1000
    /// How many messages of a queue, or of all that share a limit, may be leased at the same time.
    public static let leasedLimitRange = 1...1_000_000
    /// Bytes in a limit's name.
    public static let limitNameBytesMax = 200
    /// How many messages a rate lets start in a period, and at once.
    public static let rateCountRange = 1...1_000_000
    /// How long the period of a rate may be.
    public static let ratePeriodRange = Duration.milliseconds(1)...Duration.seconds(30 * 24 * 3600)
    /// How much a group may weigh where a queue is shared fairly.
    public static let weightRange = 1...1000
    /// How long a unique key may be held for a period.
    public static let keyPeriodRange = Duration.milliseconds(1)...Duration.seconds(366 * 24 * 3600)
    /// Messages that one claim, or one step of a pruning, ends at most because they have expired.
    public static let expiryCountMax = 1000
    /// Messages that one transaction permits or blocks at most because their group, or what it is given permits by, has changed.
    public static let regroupCountMax = 1000
    /// The lowest and highest priority. A higher one is claimed first.
    public static let priorityRange = -100...100
    /// How many attempts a message may be allowed.
    public static let attemptsRange = 1...1000
    /// How long a lease may be.
    public static let leaseRange = Duration.milliseconds(100)...Duration.seconds(7 * 24 * 3600)
    /// How long a worker has to end that is asked to, so that its message can be cancelled, where nobody says another time.
    public static let cancelTime = Duration.seconds(30)
    /// Bytes in the words that say how far the work on a message has come.
    public static let progressBytesMax = 200
    /// How far ahead a message may be due, or a retry be put off: ten years.
    public static let delayMax = Duration.seconds(3650 * 24 * 3600)
    /// How many messages may wait in a bounded queue.
    public static let capacityRange = 1...1_000_000_000
    /// Bytes of an error's text that are kept with an attempt. Of a longer one the end is kept.
    public static let errorTextBytesMax = 4096
    /// Attempts of one message whose errors are kept. Of more, the first ones go.
    public static let attemptsKeptMax = 100
    /// Rows in one answer to a question about the store.
    public static let rowsMax = 10_000
    /// Messages that one answer looks at to find those that match.
    public static let lookCountMax = 100_000
    /// Payload bytes that one answer looks at to find a text in them, but for the message that exceeds them: 32 MiB.
    public static let lookBytesMax = 32 * 1024 * 1024
    /// Bytes in a text that is looked for in payloads or errors.
    public static let filterTextBytesMax = 1000
    /// Bytes of an error by which dead letters are put into groups.
    public static let signatureBytesMax = 500
    /// Groups of dead letters in one answer.
    public static let deadGroupCountMax = 1000
    /// Bytes of payloads and headers in one page of a log, but for a single message that has more.
    public static let logPageBytesMax = 4 * 1024 * 1024
    /// Bytes in a remote worker's name.
    public static let workerNameBytesMax = 200
    /// Bytes in a cursor's name.
    public static let cursorNameBytesMax = 200
    /// Bytes in what is said when a cursor is placed.
    public static let cursorNoteBytesMax = 32 * 1024
    /// Bytes in what is said at all cursors of one queue's log, but for those of settings: 1 MiB.
    public static let cursorNotesBytesMax = 1024 * 1024
    /// Cursors in one queue's log. Those of settings do not count, and are as many at most; one more says that a log has ended.
    public static let cursorCountMax = 1000
    /// Bytes in a schedule's name.
    public static let scheduleNameBytesMax = 200
    /// How far the messages of a schedule may be put off by chance.
    public static let scheduleJitterMax = Duration.seconds(24 * 3600)
    /// Firings of one schedule that are kept. Of more, the first ones go.
    public static let firingsKeptMax = 100
    /// Bytes in the name of a kind of messages.
    public static let kindNameBytesMax = 200
    /// Bytes in a workflow's name.
    public static let workflowNameBytesMax = 200
    /// Bytes in a task's name.
    public static let taskNameBytesMax = 200
    /// Tasks in one workflow.
    public static let taskCountMax = 20_000
    /// Dependencies between the tasks of one workflow.
    public static let dependencyCountMax = 100_000
    /// Bytes in what a message gives when it is done, in what a step gives, and in what an event brings.
    public static let resultBytesMax = 1024 * 1024
    /// Bytes in a step's name, with the number or the word behind it.
    public static let stepNameBytesMax = 200
    /// Bytes in the name that a handler gives a step: `#1000` has room behind it.
    public static let givenStepNameBytesMax = 190
    /// Steps of one message that are recorded.
    public static let stepCountMax = 1000
    /// Bytes of what all steps of one message gave.
    public static let journalBytesMax = 16 * 1024 * 1024
    /// Bytes in an event's name. What a handler notes of its wait has the event's name in a step's, so there is room for more
    /// behind it.
    public static let eventNameBytesMax = 180
    /// Events of one message, or of one workflow.
    public static let eventCountMax = 1000
    /// Dependencies that one transaction settles at most. Those of a task with more are settled in steps.
    public static let cascadeCountMax = 1000
    /// Messages that one claim moves from scheduled to ready at most. Of large ones in a fair queue it may be fewer.
    public static let promotionCountMax = 1000
    /// Values that a durable stream has taken from its source and not stored yet. It takes no more meanwhile.
    public static let stagedCountMax = 1024
    /// Bytes of those values, but for the one that exceeds them.
    public static let stagedBytesMax = 16 * 1024 * 1024
}
