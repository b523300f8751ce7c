package import PenstockCore

/// What a commit rings a queue's bell for.
package struct Ring: Equatable {
    /// How many messages more can be claimed.
    package var messages = 0
    /// Whether there may be room for more.
    package var makesRoom = false
    /// Whether everybody has to look, as the queue itself has changed, or something is asked of those who work.
    package var isForAll = false
    /// The queue's tag.
    package var tag: UInt16 = 0

    package init(messages: Int = 0, isForAll: Bool = false, tag: UInt16 = 0) {
        self.messages = messages
        self.isForAll = isForAll
        self.tag = tag
    }

    /// Announces what `other` does as well.
    package mutating func add(_ other: Ring) {
        if other.tag != tag, other.messages > 0, messages > 0 { isForAll = true }
        // Messages are told of by their own queue's tag, whichever queue of the bucket rang first.
        if messages == 0, other.messages > 0 { tag = other.tag }
        messages += other.messages
        makesRoom = makesRoom || other.makesRoom
        isForAll = isForAll || other.isForAll
    }

    /// Whom it is for.
    package var change: Wakeups.Change { isForAll || messages > 0 ? .work : makesRoom ? .room : .log }
}
