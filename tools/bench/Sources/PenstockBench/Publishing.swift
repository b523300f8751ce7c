internal import ArgumentParser
internal import Penstock
internal import Shared

/// Events over a bus on a store, until every subscriber has them all.
struct BusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bus")

    @OptionGroup var options: StoreOptions

    @Option(help: "Subscribers with a handler.")
    var subscribers = 1

    @Option(help: "Tasks that send, each awaiting its own; 0: one task that hands over with <<.")
    var senders = 0

    @Option(help: "Events.")
    var count = 10_000

    /// Events between two looks at the subscribers: as many as may be on their way, which is half of what the bus keeps.
    private static var roundCount: Int { EventBus.handedOverMax / 2 }

    private struct Tick: Event {
        var number: Int
    }

    func run() async throws {
        let (store, _) = try await options.open()
        let bus = try await EventBus.open(in: store)
        let tallies = (0..<subscribers).map { _ in Tally() }
        // Subscribers ring it at the end of each round, and the sender waits for that.
        let (rings, bell) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let count = count
        let tokens = tallies.map { tally in
            bus >> { (_: Tick) in
                let number = tally.add(1)
                if number % Self.roundCount == 0 || number == count { bell.yield() }
            }
        }
        var ring = rings.makeAsyncIterator()
        func wait(for least: Int) async {
            while tallies.contains(where: { $0.done < least }) { await ring.next() }
        }
        var sent = 0.0
        var measured = try await Measured.run(count) {
            let began = bench_now()
            for first in stride(from: 0, to: count, by: Self.roundCount) {
                let numbers = first..<min(first + Self.roundCount, count)
                // The bus keeps so many events. Of more the slowest subscriber would miss the first, and never have them all.
                await wait(for: numbers.upperBound - EventBus.bufferLengthDefault)
                try await send(numbers, over: bus)
            }
            sent = Double(bench_now() - began) / 1e9
            await wait(for: count)
        }
        measured.numbers["sent"] = sent
        measured.print()
        withExtendedLifetime(tokens) {}
        try await store.close()
    }

    /// Sends so many events, and returns when they are on record.
    private func send(_ numbers: Range<Int>, over bus: EventBus) async throws {
        if senders == 0 {
            for number in numbers { bus << Tick(number: number) }
            return await bus.flush()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask { [senders] in
                    for number in stride(from: numbers.lowerBound + sender, to: numbers.upperBound, by: senders) {
                        try await bus.send(Tick(number: number))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
