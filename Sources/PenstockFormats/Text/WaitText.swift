package import PenstockCore

/// What a message waits for, for people.
package enum WaitText {
    /// A sentence for where it is, and one for each thing that it waits for.
    package static func lines(_ reason: WaitReason, at now: Timestamp) -> [String] {
        let message = reason.message
        let name = "Message \(message.sequence) of \(Escape.text(message.queue.text))"
        if message.state.isFinished {
            let since = message.finishedAt.map { " since \(TimeText.short($0))" } ?? ""
            return ["\(name) is \(message.state.rawValue)\(since)" + (message.reason.map { ": \(why($0))." } ?? ".")]
        }
        if message.state == .leased { return leased(reason, name) }
        var lines = ["\(name) is \(message.state.rawValue)."] + reason.causes.map { sentence($0, of: message, at: now) }
        if message.state == .ready, reason.causes.isEmpty { lines.append("It is next, and a worker can take it.") }
        if case .due(let due, _)? = reason.causes.first, due <= now, reason.causes.count == 1,
            message.expiresAt.map({ $0 > now }) ?? true
        {
            // What its group waits for is looked at then.
            let group = message.group == nil ? "" : ", and then it goes by its group"
            lines.append("A worker of its queue takes it up with its next claim\(group).")
        }
        if let expiresAt = message.expiresAt { lines.append(expiry(expiresAt, at: now)) }
        return lines
    }

    private static func expiry(_ moment: Timestamp, at now: Timestamp) -> String {
        moment > now
            ? "It expires at \(TimeText.short(moment))."
            : "It has expired at \(TimeText.short(moment)), and ends when somebody works or prunes its queue: it does not start."
    }

    private static func leased(_ reason: WaitReason, _ name: String) -> [String] {
        let message = reason.message
        let since = message.claimedAt.map { " since \(TimeText.short($0))" } ?? ""
        var lines = [
            "\(name) is with \(reason.holder.map(text) ?? "a worker")\(since), attempt \(message.attempt) of "
                + "\(message.attemptsMax)."
        ]
        if reason.holder?.isAlive == false {
            lines.append("That process is dead; another one that works puts the message back in line.")
        }
        if let askedAt = message.cancelRequestedAt {
            lines.append("Its worker is asked since \(TimeText.short(askedAt)) to end, so that it can be cancelled.")
        }
        return lines
    }

    private static func sentence(_ cause: WaitReason.Cause, of message: MessageRecord, at now: Timestamp) -> String {
        let queue = message.queue.text
        let group = Escape.text(message.group ?? "")
        let resume = "penstock group resume \(ShellWords.arguments(queue, message.group ?? ""))"
        return switch cause {
        case .due(let due, .asEnqueued): "It \(due > now ? "is due at" : "has been due since") \(TimeText.short(due))."
        case .due(let due, .retry):
            "It \(due > now ? "is tried again at" : "has been due again since") \(TimeText.short(due)): attempt "
                + "\(message.attempt) of \(message.attemptsMax) has failed."
        case .due(let due, .suspended):
            "Its handler has stopped to wait, and \(due > now ? "goes on at" : "could go on since") \(TimeText.short(due))."
        case .event(let event): "It waits for the event \(Escape.text(event.text))."
        case .task(let other): "It waits for \(text(other))."
        case .moreTasks: "It waits for more tasks than these."
        case .untold: "What it waited for has ended; it goes on in a moment."
        case .groupPaused: "Its group \(group) is paused; `\(resume)` lets it go on."
        case .permit(let other): "A permit of its group \(group) has \(text(other))."
        case .morePermits: "More messages than these have permits of its group."
        case .before(let count): "\(text(count)) of its group \(count.count == 1 ? "comes" : "come") before it."
        case .groupHeld(let until):
            "A worker has put its group \(group) off until \(TimeText.short(until)); `\(resume)` lets it go on."
        case .groupRate(let opens?): "By its rate, its group starts nothing before \(TimeText.short(opens))."
        case .groupRate(nil):
            "Its group starts nothing for a while; until when, another clock says, and it is not known here."
        case .policyChange: "A change of the queue is still being carried out."
        case .queueDeleting: "The queue is being deleted, or copied here and not all of it has come."
        case .queuePaused:
            "The queue is paused; `penstock queue resume \(ShellWords.arguments(queue))` lets it go on."
        case .limit(let count, let leased):
            "The queue's limit of \(usedUp(count, leased))"
        case .sharedLimit(let name, let count, let leased):
            "The limit \(Escape.text(name.text)) of \(usedUp(count, leased))"
        case .rate(let opens?): "By its rate, the queue starts nothing before \(TimeText.short(opens))."
        case .rate(nil):
            "By its rate, the queue may have to wait; until when, another clock says, and it is not known here."
        case .ahead(let count): "\(text(count)) \(count.count == 1 && !count.isMore ? "is" : "are") ahead of it."
        case .noWorker: "No worker that has had messages of this store is alive."
        }
    }

    private static func usedUp(_ limit: Int, _ leased: Int) -> String {
        "\(limit) is used up: \(leased) \(leased == 1 ? "is" : "are") with workers."
    }

    private static func text(_ count: WaitReason.Count) -> String {
        (count.isMore ? "More than " : "") + CountText.format(count.count, "message")
    }

    private static func text(_ holder: WaitReason.Holder) -> String {
        "worker \(holder.worker)" + (holder.name.isEmpty ? "" : " (\(Escape.text(holder.name)))")
    }

    private static func text(_ other: WaitReason.Other) -> String {
        let name =
            other.task.map { "the task \(Escape.text($0.text)), message \(other.sequence)" }
            ?? "message \(other.sequence)"
        let place =
            switch other.state {
            case .leased: other.holder.map { "with \(text($0))" } ?? "with a worker"
            case .scheduled: other.due.map { "scheduled for \(TimeText.short($0))" } ?? "scheduled"
            case .dead: "a dead letter; redrive or discard it"
            default: other.state.rawValue
            }
        return "\(name), which is \(place)"
    }

    private static func why(_ reason: StateReason) -> String {
        switch reason {
        case .attemptsExhausted: "the last attempt that it is allowed has failed"
        case .rejected: "its handler has rejected it"
        case .undecodable: "its payload could not be decoded"
        case .misplaced: "a repair has found it without a place in the line"
        case .dropNewest: "it came to a full queue"
        case .dropOldest: "it was the oldest in a full queue"
        case .expired: "it had not started by the time it expired"
        case .requested: "somebody has cancelled it"
        case .replaced: "a newer message with its key has taken its place"
        case .discarded: "somebody has discarded the dead letter"
        case .parentFailed: "a task that it waited for was not done"
        }
    }
}
