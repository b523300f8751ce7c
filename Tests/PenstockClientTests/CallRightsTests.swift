import Penstock
import PenstockCore
import Testing

@testable import PenstockAPI
@testable import PenstockClient

/// Each call of the store protocol, made with tokens that lack what it needs: one by one, so that none is left out.
@Suite(.timeLimit(.minutes(5))) struct CallRightsTests {
    /// A new call does not come without its entry, and so not without its refusal.
    @Test func everyCallHasAnEntry() {
        let table = StoreCallTable()
        let known = (UInt8.min...UInt8.max).filter { table[$0] != nil }
        #expect(Set(GuardedCalls.all.map(\.id)).sorted() == known)
    }

    /// Neither a token without the scope, whose queues are all, nor one with every scope for another queue.
    @Test func whoMayNotIsRefusedAndChangesNothing() async throws {
        let calls = GuardedCalls.all
        let without = calls.compactMap(\.tokenWithout)
        let rights = Dictionary(without.map { ($0.name, $0.rights) }) { first, _ in first }
        try await TokenServer.run(alsoKnowing: rights) { (store, open) async throws in
            let furnished = try await FurnishedStore(store.storage)
            let before = try await StoreContents(store.storage)
            var clients: [String: RemoteStore] = [:]
            for name in rights.keys { clients[name] = try await open(name) }
            let team = try await open("team")
            for call in calls {
                if let name = call.tokenWithout?.name {
                    let client = try #require(clients[name])
                    #expect(await end(of: call, by: client, furnished) == .forbidden, "\(call.what), by \(name)")
                }
                if call.reach != .anyQueue {
                    let what = "\(call.what), by one of another queue"
                    #expect(await end(of: call, by: team, furnished) == .forbidden, "\(what)")
                }
                #expect(try await StoreContents(store.storage) == before, "\(call.what)")
            }
            for client in clients.values { try await client.close() }
            try await team.close()
        }
    }

    /// What refuses the others is the right that is named, and not what they ask for.
    @Test func whoMayIsNotRefused() async throws {
        let rights = ["owner": "read,produce,consume,operate mail,other*"]
        try await TokenServer.run(alsoKnowing: rights) { (store, open) async throws in
            let furnished = try await FurnishedStore(store.storage)
            let (owner, everything) = (try await open("owner"), try await open("everything"))
            for call in GuardedCalls.all {
                let client = call.reach == .wholeStore ? everything : owner
                #expect(await end(of: call, by: client, furnished) != .forbidden, "\(call.what)")
            }
            for client in [owner, everything] { try await client.close() }
        }
    }

    /// How a call ends: the code of its error; `nil`: it was carried out.
    private func end(
        of call: GuardedCall, by client: RemoteStore, _ furnished: FurnishedStore
    ) async -> PenstockError.Code? {
        do { try await call.make(client, furnished) } catch { return (error as? PenstockError)?.code }
        return nil
    }
}
