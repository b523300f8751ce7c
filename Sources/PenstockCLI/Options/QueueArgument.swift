import ArgumentParser
import Penstock
import PenstockCore

/// Completes the names of queues from the file that the command is about.
enum QueueCompletion {
    static let names = CompletionKind.custom { words, _, prefix in
        let names = (try? await names(in: StoreFile(path: FileOptions.path(in: words)))) ?? []
        return names.filter { $0.hasPrefix(prefix) && isPlain($0) }
    }

    /// Whether no shell takes anything in a name for its own. bash expands what a program gives it to complete with, so that it
    /// would run what a queue's name says in `$(...)`.
    private static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0 >= 0x80 || "._-".utf8.contains($0) }
    }

    @MainActor
    private static func names(in file: StoreFile) async throws -> [String] {
        try await file.look { store in try await store.queues().map(\.name.text) }
    }
}

/// The queue that a command is about, and how one that changes it says so.
struct QueueOptions: ParsableArguments {
    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    /// Calls `body` with the queue, and says what that did.
    @MainActor
    func change(_ verb: String, _ body: @MainActor (Queue<[UInt8]>) async throws -> Void) async throws {
        try await storeOptions.file.use(queue: queue) { store in
            try await body(try await store.queue(queue.text, create: false))
            try Output().done(verb, queue, isJSON: storeOptions.isJSON)
        }
    }
}
