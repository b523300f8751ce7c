import PenstockCore

extension Handover {
    /// What another process has posted, and this one carries out.
    struct Guest {
        fileprivate let slot: Int
        fileprivate let word: HandoverBoard.Word
        let parcels: [Parcel]

        /// Whether the answer has to wait for the disk.
        var awaitsFlush: Bool { parcels.contains { $0.durability == .powerLoss } }
    }

    /// Whether somebody had taken requests and died. To be asked with the turn.
    var hasAbandoned: Bool { board.has(.taken) }

    /// Whether anybody has posted something.
    var hasPosts: Bool { board.has(.posted) }

    /// Decides what became of requests whose taker has died: with the turn, before another transaction is named.
    ///
    /// - Parameter lastBatch: the name of the last transaction that was committed.
    func resolveAbandoned(lastBatch: UInt64) {
        for slot in 0..<HandoverBoard.slotCount {
            let word = board.word(of: slot)
            guard word.state == .taken else { continue }
            _ = board.move(slot, from: word, to: board.batch(of: slot) == lastBatch ? .committed : .posted)
            board.ring(slot)
        }
    }

    /// Takes what others have posted, to be carried out in the transaction called `batch`. To be called with the turn.
    func takeGuests(batch: UInt64, now: Timestamp) -> [Guest] {
        var guests: [Guest] = []
        let ownSlot = ownSlot
        for slot in 0..<HandoverBoard.slotCount where slot != ownSlot {
            let word = board.word(of: slot)
            guard word.state == .posted else { continue }
            guard isOwned(slot) else {
                _ = board.move(slot, from: word, to: .idle)
                continue
            }
            board.setBatch(of: slot, batch)
            guard board.move(slot, from: word, to: .taken) else { continue }
            guests.append(
                Guest(
                    slot: slot, word: HandoverBoard.Word(ticket: word.ticket, state: .taken),
                    parcels: readParcels(of: slot, now: now)))
        }
        return guests
    }

    private func readParcels(of slot: Int, now: Timestamp) -> [Parcel] {
        var reader = ByteReader(board.request(of: slot))
        var parcels: [Parcel] = []
        for _ in 0..<min(reader.integer(UInt32.self) ?? 0, UInt32(Parcel.messagesMax)) {
            guard let parcel = Parcel(from: &reader, now: now) else { break }
            parcels.append(parcel)
        }
        return parcels
    }

    /// Writes down what the first parcels of `guest` gave. To be called before the COMMIT: after it, who died cannot.
    func write(_ receipts: [[Receipt]], for guest: Guest) {
        var writer = ByteWriter(board.answer(of: guest.slot))
        writer.write(UInt32(receipts.count))
        for (some, parcel) in zip(receipts, guest.parcels) {
            writer.write(parcel.durability.code)
            writer.write(UInt32(some.count))
            for receipt in some { receipt.write(to: &writer) }
        }
    }

    /// The answer that somebody has written for the owner of `slot`.
    func readAnswer(of slot: Int) -> [[Receipt]] {
        var reader = ByteReader(board.answer(of: slot))
        var answer: [[Receipt]] = []
        for _ in 0..<min(reader.integer(UInt32.self) ?? 0, UInt32(Parcel.messagesMax)) {
            guard let durability = reader.integer(UInt8.self).flatMap(Durability.init(code:)),
                let count = reader.integer(UInt32.self)
            else { break }
            var receipts: [Receipt] = []
            for _ in 0..<min(count, UInt32(Parcel.messagesMax)) {
                guard let receipt = Receipt(from: &reader, durability: durability) else { break }
                receipts.append(receipt)
            }
            answer.append(receipts)
        }
        return answer
    }

    /// The transaction came to nothing: others may take them, or their owners carry them out.
    func giveBack(_ guests: [Guest]) {
        for guest in guests { _ = board.move(guest.slot, from: guest.word, to: .posted) }
    }

    /// The transaction is committed. To be said with the turn.
    ///
    /// - Returns: whom to ``answer(_:)``.
    func commit(_ guests: [Guest]) -> [Guest] {
        guests.compactMap { guest in
            guard board.move(guest.slot, from: guest.word, to: .committed) else { return nil }
            let word = HandoverBoard.Word(ticket: guest.word.ticket, state: .committed)
            return Guest(slot: guest.slot, word: word, parcels: guest.parcels)
        }
    }

    /// What was committed is on the disk: wakes who waits for that. Who is not answered flushes by itself, and finds out
    /// whether that can be done.
    func answer(_ guests: [Guest]) {
        for guest in guests where board.move(guest.slot, from: guest.word, to: .answered) { board.ring(guest.slot) }
    }
}
