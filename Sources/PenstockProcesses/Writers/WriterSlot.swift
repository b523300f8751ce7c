import Foundation

/// The slot of one store, at which it waits for the ``WriterLock``. One thread uses it.
package final class WriterSlot {
    package let number: Int
    /// Names the present wait, and what was asked for in it.
    package private(set) var ticket: UInt64
    private let slots: WriterSlots
    private var requestByteCount = 0

    /// Takes a slot that no other store owns; `nil` when there is none.
    package init?(of slots: WriterSlots) {
        let first = Int(getpid()) % WriterSlots.count
        let numbers = (0..<WriterSlots.count).lazy.map { (first + $0) % WriterSlots.count }
        guard let number = numbers.first(where: { slots.own($0) }) else { return nil }
        self.number = number
        self.slots = slots
        // A ticket never comes twice, so that an answer in the database is not taken for that to another request; also when the memory
        // was made anew. 60 bits, so that it can be counted up, and is a positive integer in SQL.
        ticket = .random(in: 0..<(1 << 60))
        // What a dead process has left goes as well.
        requestByteCount = WriterSlots.requestByteCount
        clear()
        slots.set(number, to: word(.free))
    }

    deinit {
        clear()
        slots.set(number, to: word(.free))
        slots.disown(number)
    }

    /// Says that this store waits, and writes down what another process may carry out for it.
    ///
    /// - Parameter write: writes as much of the request as has room, and says how many calls that are.
    /// - Returns: what `write` says.
    package func begin(_ write: (inout ByteWriter) -> Int) -> Int {
        ticket += 1
        let request = slots.request(of: number)
        let content = UnsafeMutableRawBufferPointer(rebasing: request[WriterSlots.headByteCount...])
        var writer = ByteWriter(content)
        let count = write(&writer)
        var head = ByteWriter(request)
        head.write(WriterSlots.checksum(of: content[..<writer.count], ticket: ticket))
        head.write(UInt32(writer.count))
        requestByteCount = WriterSlots.headByteCount + writer.count
        slots.set(number, to: word(count == 0 ? .waiting : .posted))
        return count
    }

    /// Where the present wait stands; `nil` when the memory is damaged.
    package var state: WriterSlots.State? {
        let word = slots.word(of: number)
        return word.ticket == ticket ? word.state : nil
    }

    /// Takes back the wait and the request.
    ///
    /// - Returns: false when another process has taken the request.
    package func withdraw() -> Bool {
        let isMine = [WriterSlots.State.waiting, .posted].contains { state in
            slots.change(number, from: word(state), to: word(.free))
        }
        if isMine { clear() }
        return isMine
    }

    /// Sees to it that no process takes the request from now on, and that none that has taken it offers it again or says that it is
    /// done. What becomes of it in the hands of one that has it is to be asked elsewhere.
    package func retract() {
        slots.set(number, to: word(.free))
    }

    /// What the process that carried the request out says of it, once the state is `done`; `nil` when that cannot be read
    /// and the database has to be asked.
    package var answer: [UInt8]? {
        slots.answer(of: number, ticket: ticket)
    }

    /// Ends the wait, whatever becomes of the request. A process that has taken it meets another ticket.
    package func end() {
        ticket += 1
        slots.set(number, to: word(.free))
        clear()
    }

    /// How often the bell was rung, to be read before the look after which the store sleeps.
    package var ringCount: UInt32 { slots.ringCount(of: number) }

    /// Sleeps until the bell was rung more often than `count`, or `limit` has passed. It may return earlier.
    package func wait(after count: UInt32, upTo limit: Duration) {
        slots.wait(at: number, after: count, upTo: limit)
    }

    private func word(_ state: WriterSlots.State) -> WriterSlots.Word {
        WriterSlots.Word(ticket: ticket, state: state)
    }

    /// No payload stays in the memory after the call that it was part of.
    private func clear() {
        let request = slots.request(of: number)
        request[..<requestByteCount].initializeMemory(as: UInt8.self, repeating: 0)
        requestByteCount = 0
    }
}
