import PenstockCore
import Testing

@Suite struct RetryPolicyTests {
    @Test func workedNumbersOfTheDocumentation() {
        var policy = RetryPolicy()
        policy.jitter = 0
        let seconds = (1...10).map { policy.delay(afterAttempt: $0, random: 0.9) }
        #expect(seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map { Duration.seconds($0) })
    }

    @Test func theCapHolds() {
        let policy = RetryPolicy(base: .seconds(1), factor: 3, cap: .seconds(20), jitter: 0)
        #expect((1...5).map { policy.delay(afterAttempt: $0, random: 0) } == [1, 3, 9, 20, 20].map { .seconds($0) })
        #expect(RetryPolicy(jitter: 0).delay(afterAttempt: 13, random: 0) == .seconds(3600))
    }

    @Test(arguments: [(1, 1.0), (2, 100.0), (1000, 1.0), (1000, 2.0), (1000, 100.0), (Int.max, 2.0)])
    func noAttemptOverflows(attempt: Int, factor: Double) {
        let policy = RetryPolicy(base: .seconds(1), factor: factor, cap: Limits.delayMax, jitter: 0)
        let delay = policy.delay(afterAttempt: attempt, random: 0)
        #expect(delay >= .seconds(1))
        #expect(delay <= Limits.delayMax)
        if attempt == 1000 { #expect(delay == (factor == 1 ? .seconds(1) : Limits.delayMax)) }
    }

    @Test func noBaseIsNoDelay() {
        let policy = RetryPolicy(base: .zero, cap: .seconds(9))
        #expect(policy.delay(afterAttempt: 1, random: 0) == .zero)
        #expect(policy.delay(afterAttempt: 1000, random: 0.5) == .zero)
    }

    @Test(arguments: [0.0, 0.25, 1.0])
    func jitterIsTakenOffAndNeverAdded(jitter: Double) {
        let policy = RetryPolicy(base: .seconds(100), cap: .seconds(100), jitter: jitter)
        let least = Duration.microseconds(Int64(100_000_000 * (1 - jitter)))
        #expect(policy.delay(afterAttempt: 1, random: 0) == .seconds(100))
        for random in [0.001, 0.3, 0.7, 0.999_999] {
            let delay = policy.delay(afterAttempt: 1, random: random)
            #expect(delay >= least)
            #expect(delay <= .seconds(100))
            #expect(delay == .microseconds(Int64(100_000_000 * (1 - jitter * random))))
        }
    }

    @Test func goodPolicies() throws {
        try RetryPolicy().validate()
        try RetryPolicy(attemptsMax: 1, base: .zero, factor: 1, cap: .zero, jitter: 0).validate()
        try RetryPolicy(attemptsMax: 1000, base: Limits.delayMax, factor: 100, cap: Limits.delayMax, jitter: 1)
            .validate()
    }

    @Test(arguments: [
        RetryPolicy(attemptsMax: 0),
        RetryPolicy(attemptsMax: 1001),
        RetryPolicy(base: .seconds(-1)),
        RetryPolicy(base: .seconds(2), cap: .seconds(1)),
        RetryPolicy(cap: Limits.delayMax + .microseconds(1)),
        RetryPolicy(factor: 0.99),
        RetryPolicy(factor: 100.01),
        RetryPolicy(factor: .nan),
        RetryPolicy(factor: .infinity),
        RetryPolicy(jitter: -0.01),
        RetryPolicy(jitter: 1.01),
        RetryPolicy(jitter: .nan),
    ])
    func badPolicies(_ policy: RetryPolicy) {
        #expect(refusal { () throws(PenstockError) in try policy.validate() } == .invalidInput)
    }
}

/// The code of the error that `check` throws, or `nil` when it throws none.
func refusal(_ check: () throws(PenstockError) -> Void) -> PenstockError.Code? {
    do {
        try check()
        return nil
    } catch {
        return error.message.isEmpty ? nil : error.code
    }
}
