import Foundation
import PenstockCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SystemCallTests {
    /// Makes a call that fails as often as it has to for the reasons `failures`, one after the other, and then returns 7.
    private func make(failing failures: [Int32]) -> (result: Int32, reason: Int32, count: Int) {
        var count = 0
        let result: Int32 = SystemCall.uninterrupted {
            defer { count += 1 }
            guard count < failures.count else { return 7 }
            errno = failures[count]
            return -1
        }
        return (result, errno, count)
    }

    @Test func aCallThatASignalInterruptsIsMadeAgain() {
        #expect(make(failing: []).count == 1)
        let made = make(failing: [EINTR, EINTR])
        #expect(made.result == 7)
        #expect(made.count == 3)
    }

    @Test(arguments: [EIO, EAGAIN, ENOSPC]) func anyOtherFailureIsTheCallers(number: Int32) {
        let made = make(failing: [EINTR, number, EINTR])
        #expect(made.result == -1)
        #expect(made.reason == number)
        #expect(made.count == 2)
    }
}
