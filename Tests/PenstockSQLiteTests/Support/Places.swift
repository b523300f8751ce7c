/// Lets so many tests go on at a time, in the order in which they come: each has several processes' worth of files open, and a shell
/// gives a thousand.
actor Places {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    nonisolated func run(_ body: () async throws -> Void) async throws {
        await take()
        do {
            try await body()
            await giveBack()
        } catch {
            await giveBack()
            throw error
        }
    }

    private func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
