import Testing

@testable import PenstockCLI

/// Which process has which message, and what its asker is told.
@Suite(.timeLimit(.minutes(5))) struct JobsTests {
    let jobs = Jobs()

    /// What the asker of `number` is told, in a word.
    private func ask(_ number: UInt8) -> Task<String, Never> {
        Task { [jobs] in
            switch await jobs.ask([number]) {
            case .answered(let answer): "\(answer)"
            case .died: "died"
            case .unworked(let cause): "unworked: \(cause)"
            case .failed(let failure): failure.message
            }
        }
    }

    private func dialogue(_ place: Jobs.Place) -> Dialogue {
        let dialogue = Dialogue(.lines, bytesMax: 10) { [jobs] _ in jobs.leave(place) }
        jobs.attend(place, dialogue)
        return dialogue
    }

    @Test func aMessageGoesToAProcessAndItsAnswerBack() async throws {
        let place = jobs.join()
        let asked = ask(1)
        let job = try #require(await jobs.next(at: place))
        #expect(job.bytes == [1])
        jobs.finish(job, .answered(.done([2])))
        #expect(await asked.value == "\(Answer.done([2]))")
    }

    @Test func whatIsPutBackGoesToAnotherProcess() async throws {
        let (first, second) = (jobs.join(), jobs.join())
        let asked = ask(1)
        jobs.putBack(try #require(await jobs.next(at: first)))
        let job = try #require(await jobs.next(at: second))
        jobs.finish(job, .answered(.done([])))
        #expect(await asked.value == "\(Answer.done([]))")
    }

    /// Its lease may be another worker's by now.
    @Test func whatNobodyWantsIsNotGivenToAnotherProcess() async throws {
        let place = jobs.join()
        let dialogue = dialogue(place)
        let asked = ask(1)
        let job = try #require(await jobs.next(at: place))
        asked.cancel()
        #expect(await jobs.next(at: place) == nil)
        #expect(dialogue.ending == .stopped(.cancelled))
        jobs.putBack(job)
        #expect(await asked.value == "unworked: cancelled")
    }

    @Test func aStopEndsAllAndGivesBackWhatWaits() async throws {
        let place = jobs.join()
        let dialogue = dialogue(place)
        jobs.stop(.grace)
        #expect(dialogue.ending == .stopped(.grace))
        #expect(await ask(1).value == "unworked: grace")
        #expect(await jobs.next(at: place) == nil)
        #expect(!jobs.isOpen)
    }

    @Test func afterAFailureEveryoneIsToldOfIt() async {
        jobs.fail(Failure(.cannotRun, "It cannot be."))
        #expect(await ask(1).value == "It cannot be.")
        #expect(await jobs.next(at: jobs.join()) == nil)
    }

    @Test func whoIsNotNeededIsToldSo() async {
        let place = jobs.join()
        let next = Task { [jobs] in await jobs.next(at: place) == nil }
        jobs.close()
        #expect(await next.value)
    }
}
