import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockClient

/// What a token for one queue is told and may change while others are at work: rights are looked at before a call, and what it is
/// about may have come in between.
@Suite(.timeLimit(.minutes(5))) struct InterleavedAccessTests {
    private let mail = TokenServer.mail
    private let other = TokenServer.other
    private let store = InterleavedStore(InMemoryStore())

    private func arrive(after call: StoreCall) {
        store.afterNext(call) { [other] in
            _ = try await $0.enqueue([NewMessage(payload: [7])], to: other, durability: .processCrash)
        }
    }

    @Test func aMessageThatHasJustComeIsNotShown() async throws {
        try await TokenServer.run(store) { (_, open) async throws in
            let team = try await open("team")
            arrive(after: .messages)
            let query = MessageQuery(sequences: [SequenceNumber(1)], limit: 1, withPayload: true)
            #expect(try await team.messages(query).records.isEmpty)
            #expect(try await store.messages(query).records.count == 1)
            await expect(.forbidden) { _ = try await team.messages(query) }
            try await team.close()
        }
    }

    @Test func aMessageThatHasJustComeIsNotCancelled() async throws {
        try await TokenServer.run(store) { (_, open) async throws in
            let team = try await open("team")
            arrive(after: .messages)
            await expect(.unknownMessage) {
                _ = try await team.apply(.cancel, to: .sequences([SequenceNumber(1)]))
            }
            #expect(try await PenstockStore(store).message(SequenceNumber(1)).state == .ready)
            arrive(after: .messages)
            await expect(.unknownMessage) { _ = try await team.waitReason(of: SequenceNumber(2)) }
            try await team.close()
        }
    }

    @Test func aScheduleThatHasJustBeenMadeIsNotReplaced() async throws {
        try await TokenServer.run(store) { (_, open) async throws in
            let team = try await open("team")
            let name = try ScheduleName("s")
            func schedule(_ queue: QueueName) -> Schedule {
                Schedule(queue: queue, spec: "@daily", message: NewMessage(payload: []))
            }
            let others = schedule(other)
            store.afterNext(.schedules) { _ = try await $0.schedule(name, .put(others, replacing: false)) }
            await #expect(throws: PenstockError.self) {
                try await team.schedule(name, .put(schedule(mail), replacing: true))
            }
            #expect(try await store.schedules(name).map(\.schedule.queue) == [other])
            // One that is nobody's is made, and then replaced.
            let own = try ScheduleName("own")
            for spec in ["@daily", "@hourly"] {
                var schedule = schedule(mail)
                schedule.spec = spec
                #expect(try await team.schedule(own, .put(schedule, replacing: true))?.schedule.spec == spec)
            }
            try await team.close()
        }
    }
}
