import Penstock
import PenstockTestKit
import Testing

/// Every agreed trace on the durable operators: what comes out, and when; and the same when the process dies at any
/// step.
@Suite(.timeLimit(.minutes(5))) struct DurableTraceTests {
    @Test(arguments: Trace.agreed + [.lossless], World.Kind.allCases)
    func theAgreedTraces(trace: Trace, kind: World.Kind) async throws {
        for round in 1...(kind == .memory ? 20 : 2) {
            let run = TraceRun(trace, in: World(kind), isSerial: round % 2 == 0)
            let (out, died) = try await run()
            #expect(out == trace.out)
            #expect(!died)
        }
    }

    /// The store is dropped without a close after each of its calls, one by one, and opened again.
    @Test(arguments: Trace.buffered + [.lossless], World.Kind.allCases)
    func stoppedAtEveryStepAndFinished(trace: Trace, kind: World.Kind) async throws {
        var callCount = 0
        while true {
            let run = TraceRun(trace, in: World(kind), isSerial: true)
            let (before, died) = try await run(cutAfter: callCount)
            guard died else {
                #expect(before.map(\.value) == trace.values)
                break
            }
            let unsettled = try await run.countLostWork()
            let (after, diedAgain) = try await run()
            #expect(!diedAgain)

            let given = before.map(\.value) + after.map(\.value)
            var seen: Set<Int> = []
            let firstTimes = given.filter { seen.insert($0).inserted }
            #expect(firstTimes == trace.values, "stopped after \(callCount) calls: \(before), then \(after)")
            let again = Set(before.map(\.value)).intersection(after.map(\.value))
            #expect(again.isSubset(of: unsettled), "Only what was not settled is given again.")
            #expect(after.count == Set(after.map(\.value)).count, "and once.")
            callCount += kind != .memory && callCount > 40 ? 7 : 1
        }
        #expect(callCount > 10)
    }
}
