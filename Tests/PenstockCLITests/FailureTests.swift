import Penstock
import Testing

@testable import PenstockCLI

@Suite struct FailureTests {
    static let statuses: [(PenstockError.Code, Int32)] = [
        (.messageDead, 1), (.messageCancelled, 2), (.messageDropped, 2),
        (.invalidInput, 64), (.illegalTransition, 64), (.notADatabase, 65), (.corrupt, 65), (.undecodable, 65),
        (.unknownQueue, 66), (.unknownMessage, 66), (.unknownCursor, 66), (.unknownSchedule, 66), (.unknownLimit, 66),
        (.unknownWorkflow, 66), (.unknownTask, 66), (.notFound, 66),
        (.queueFull, 69), (.queueDeleting, 69), (.storeMoved, 69), (.unreachable, 69), (.closed, 70),
        (.queueExists, 73), (.scheduleExists, 73), (.fileExists, 73),
        (.diskFull, 74), (.fileReplaced, 74), (.storage, 74),
        (.timedOut, 75), (.busy, 75), (.leaseLost, 75), (.policyChanged, 75), (.selectionChanged, 75),
        (.outcomeUnknown, 76), (.readOnly, 77), (.forbidden, 77), (.newerSchema, 78), (.olderSchema, 78),
        (.wrongRelease, 78),
    ]

    @Test(arguments: statuses)
    func everyCodeHasItsStatus(code: PenstockError.Code, status: Int32) {
        let failure = Failure(known: PenstockError(code, "Something is wrong."))
        #expect(failure?.status.rawValue == status)
        #expect(failure?.line == "penstock: Something is wrong.")
    }

    @Test func aCodeThatIsNewIsOfThisProgram() {
        let code = PenstockError.Code(rawValue: "somethingNew")
        #expect(Failure(known: PenstockError(code, "Something is new."))?.status == .software)
    }

    @Test func whatItQuotesCannotBreakItsLine() {
        #expect(Failure(.usage, "'a\nb\u{1B}' is wrong.").line == #"penstock: 'a\nb\x1B' is wrong."#)
    }

    @Test func cancellationIsTemporaryAndTheUnknownIsNotOurs() {
        struct Other: Error {}
        #expect(Failure(known: CancellationError())?.status == .temporary)
        #expect(Failure(known: Other()) == nil)
    }

    /// A cursor is left out, as no command takes the name of one.
    @Test func theTableNamesWhatMayBeMissing() {
        for (code, status) in Self.statuses where code.rawValue.hasPrefix("unknown") && code != .unknownCursor {
            let kind = code.rawValue.dropFirst("unknown".count).lowercased()
            #expect(ShellStatus(rawValue: status)?.meaning.contains(kind) == true, "\(code.rawValue)")
        }
    }

    @Test func everyStatusIsInTheTable() {
        let words = ShellStatus.table.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words == ShellStatus.allCases.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: " "))
    }
}

@Suite struct ProgressTests {
    @Test func saysHowFarItIs() {
        #expect(
            Progress.text(lines: 500, bytes: 50, of: 200, after: .seconds(2))
                == "[######..................] 25 %  500 lines, 250 a second")
        #expect(
            Progress.text(lines: 9, bytes: 300, of: 200, after: .zero)
                == "[########################] 100 %  9 lines, 9000 a second")
        #expect(
            Progress.text(lines: 500, bytes: 3 << 20, of: nil, after: .seconds(1)) == "500 lines, 500 a second, 3 MiB")
    }
}
