import PenstockCore

/// Dead letters on their way into the queue that their own queue names for them.
///
/// Here a dead letter is a state of its own queue, and stays there until somebody receives from the dead-letter queue. Then it is
/// enqueued there, and discarded here. A crash between the two leaves both, and the next call discards the dead letter: the copy has
/// a key that keeps a second one out.
struct DeadLetters {
    static let countMax = 10
    private static let keyPeriod = Duration.seconds(14 * 24 * 3600)

    let store: any MessageStore
    let directory: QueueDirectory

    /// Brings some dead letters into `queue` whose dead-letter queue it is, and says whether there were any.
    func bring(into queue: QueueName) async throws -> Bool {
        var found = false
        for source in try await directory.sources(of: queue) {
            do {
                if try await bring(from: source.name, into: queue) { found = true }
            } catch let error as PenstockError where error.code == .unknownQueue {
                // It was removed within the last second, or the other was; the claim finds that out.
                directory.forget(source.name)
            }
        }
        return found
    }

    private func bring(from source: QueueName, into target: QueueName) async throws -> Bool {
        let letters = try await store.messages(
            MessageQuery(queue: source, states: [.dead], limit: Self.countMax, withPayload: true)
        ).records
        if letters.isEmpty { return false }
        let target = try await directory.read(target)
        // What a full queue drops would be on its record, again at each look; or it would be an older letter, unseen by anybody.
        let room = target.dropsWhenFull ? target.roomLeft : .max
        var found = false
        for letter in letters.prefix(room) {
            // Each stands alone: one that cannot be brought stays where it is, and stops no other.
            do {
                guard try await bring(letter, from: source, into: target) else { break }
                found = true
            } catch let error as PenstockError where error.code == .invalidInput {
                continue
            } catch let error as PenstockError where error.code == .queueFull {
                break
            }
        }
        directory.forget(source)
        return found
    }

    /// Brings one dead letter; `false`: there is no room for it.
    private func bring(
        _ letter: MessageRecord, from source: QueueName, into target: QueueSettings
    ) async throws -> Bool {
        let (headers, group) = Envelope.moved(
            letter.headers, group: letter.group, hasGroups: target.policy.hasGroupKeys, from: source.text)
        var key = Self.key(of: letter, in: try await directory.storeID())
        var copy = NewMessage(
            payload: letter.payload ?? [], headers: headers, priority: letter.priority, uniqueKey: key, group: group,
            expiry: target.expiry, origin: letter.sequence)
        while true {
            guard let receipt = try await enqueue(copy, to: target.name) else { return false }
            guard receipt.skipped, try await !isThere(copy, as: receipt.sequence, in: target.name) else { break }
            // The key is another's, and says nothing of this letter. With the number of the message that holds it, it is another key.
            key = UniqueKey("\(key.key) \(receipt.sequence)", scope: .period(Self.keyPeriod))
            copy.uniqueKey = key
        }
        do {
            _ = try await store.apply(.discard, to: .sequences([letter.sequence]))
        } catch let error as PenstockError where error.code == .illegalTransition || error.code == .unknownMessage {
            // Somebody has put it back in line meanwhile: it is worked there as well as here.
        }
        return true
    }

    /// Returns `nil` when there is no room: a queue that drops what arrives has dropped it, and the letter stays where it is. Of a copy that
    /// was there before, what has become of it since says nothing of room.
    private func enqueue(_ message: NewMessage, to queue: QueueName) async throws -> Receipt? {
        let receipt = try await store.enqueue([message], to: queue, durability: .powerLoss).first
        return receipt?.state == .dropped && receipt?.skipped == false ? nil : receipt
    }

    /// The key of the one copy that a letter has. A letter that dies again has had another attempt, and has another copy. In another store,
    /// to which the queue moves with its keys, the letter's number may be another letter's.
    static func key(of letter: MessageRecord, in store: StoreID?) -> UniqueKey {
        let words = [keyStart, store?.rawValue, "\(letter.sequence)", "\(letter.attempt)"]
        return UniqueKey(words.compactMap(\.self).joined(separator: " "), scope: .period(keyPeriod))
    }

    /// Whether a message with that key is the copy of a letter that was brought by a server. Clients can give no message such a key
    /// (`ReservedKeys`), and whatever else a message says of itself they can write.
    static func isCopy(withKey key: String?) -> Bool { key?.hasPrefix(keyStart + " ") == true }

    private static let keyStart = "amazon-sqs dead"

    /// Whether the message that has a letter's key is the letter's copy, and not one that somebody else has given such a key. One that the
    /// log has forgotten counts as the copy: such keys are the server's own (`ReservedKeys`), and the letter was received from here.
    private func isThere(
        _ copy: NewMessage, as sequence: SequenceNumber, in queue: QueueName
    ) async throws -> Bool {
        let query = MessageQuery(sequences: [sequence], limit: 1, withPayload: true)
        guard let holder = try await store.messages(query).records.first else { return true }
        return holder.queue == queue && holder.origin == copy.origin && holder.payload == copy.payload
            && holder.headers == copy.headers
    }
}
