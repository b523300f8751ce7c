import PenstockStreams
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct TraceTests {
    @Test(arguments: Trace.agreed, [true, false])
    func theAgreedTraces(trace: Trace, isSerial: Bool) async {
        for _ in 1...50 {
            #expect(await TraceRun(isSerial: isSerial)(trace) == trace.out)
        }
    }

    /// The rules, not the tables: pipelines made up at random give what the rules, followed one by one, say.
    @Test(arguments: 0..<60)
    func tracesMadeUpAtRandom(seed: UInt64) async {
        for round in 0..<5 {
            let trace = Trace.madeUp(SeededRandom(seed: seed * 5 + UInt64(round)))
            let out = await TraceRun(isSerial: round % 2 == 0)(trace)
            #expect(out == trace.out, "\(trace)")
        }
    }
}
