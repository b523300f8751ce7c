package import PenstockCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A workflow as somebody has written it: one JSON object with its tasks, or a task on each line.
package struct WorkflowFile {
    /// Bytes of such a file. All of it is in memory at once, as its tasks go in together.
    package static let bytesMax = 2 * Limits.batchBytesMax

    /// The name that the file itself has; a file of lines has none.
    package var name: String?
    package var tasks: [TaskEntry]

    /// - Throws: `PenstockError` that names the line or the task.
    package init(_ bytes: [UInt8]) throws(PenstockError) {
        // One by one: a list of all lines takes far more memory than they do where most of them are empty.
        var begins = Lines(bytes)
        guard begins.next() != nil else {
            throw PenstockError(.invalidInput, "There is no workflow in the input; it is empty.")
        }
        // A task has a queue of its own, or the one that the command line names; a workflow has neither, but tasks.
        if let whole = try Self.whole(bytes, isOneLine: begins.next() == nil) {
            (name, tasks) = (whole.name, whole.tasks)
            let written = JSONSpans.member("tasks", of: bytes[...]).flatMap(JSONSpans.elements)
            guard let written, written.count == tasks.count else {
                throw PenstockError(
                    .invalidInput, "The workflow has to have its \"tasks\" once, and to be written in UTF-8.")
            }
            for (index, task) in written.enumerated() { try tasks[index].takePayload(of: task) }
            return
        }
        tasks = []
        var (lines, dependencyCount) = (Lines(bytes), 0)
        while let line = lines.next() {
            do {
                try Self.requireRoom(after: tasks.count)
                try JSONGrammar.check(line.text)
                var task = try JSONDecoder().decode(TaskEntry.self, from: Data(line.text))
                try task.takePayload(of: line.text)
                // What no workflow may have is not kept until all lines are read, so that a file takes no more memory than one that is taken.
                try task.message.validate(now: SystemTime().now)
                dependencyCount += task.dependencies.count
                try require(
                    dependencyCount <= Limits.dependencyCountMax,
                    "A workflow has at most \(Limits.dependencyCountMax) dependencies (dependencyCountMax).")
                tasks.append(task)
            } catch {
                throw PenstockError(.invalidInput, "Line \(line.number) is no task: \(JSONInput.text(of: error))")
            }
        }
    }

    /// Throws when a workflow with so many tasks can have no other one.
    private static func requireRoom(after count: Int) throws(PenstockError) {
        try require(
            count < Limits.taskCountMax,
            "A workflow has at most \(Limits.taskCountMax) tasks (taskCountMax); make several of it.")
    }

    /// The file as one object; `nil` when it is one task on each line.
    private static func whole(_ bytes: [UInt8], isOneLine: Bool) throws(PenstockError) -> Whole? {
        let keys: Set<String>
        do {
            try JSONGrammar.check(bytes[...])
            keys = try JSONDecoder().decode(Keys.self, from: Data(bytes)).keys
        } catch {
            // Several lines that are no one value are tasks, unless the first is none either.
            let hasTooManyValues = (error as? PenstockError)?.message == JSONGrammar.hasTooManyValues.message
            if !isOneLine, !hasTooManyValues { return nil }
            throw PenstockError(.invalidInput, "The workflow is no JSON object: \(JSONInput.text(of: error))")
        }
        if isOneLine, !keys.contains("tasks") { return nil }
        do {
            return try JSONDecoder().decode(Whole.self, from: Data(bytes))
        } catch {
            throw PenstockError(.invalidInput, "The workflow cannot be read: \(JSONInput.text(of: error))")
        }
    }

    /// The lines on which something is written, with their numbers.
    private struct Lines {
        private var rest: ArraySlice<UInt8>
        private var number = 0

        init(_ bytes: [UInt8]) {
            rest = bytes[...]
        }

        mutating func next() -> (number: Int, text: ArraySlice<UInt8>)? {
            while !rest.isEmpty {
                let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
                let text = rest[..<end]
                rest = rest[end...].dropFirst()
                number += 1
                if !text.allSatisfy(Self.isSpace) { return (number, text) }
            }
            return nil
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    }

    private struct Whole: Decodable {
        var name: String?
        var tasks: [TaskEntry]

        init(from decoder: any Decoder) throws {
            let members = try Members(decoder, ["name", "tasks"], of: "A workflow")
            name = try members.value("name")
            var container = try members.container.nestedUnkeyedContainer(forKey: MemberKey("tasks"))
            tasks = []
            while !container.isAtEnd {
                try WorkflowFile.requireRoom(after: tasks.count)
                tasks.append(try container.decode(TaskEntry.self))
            }
        }
    }

    private struct Keys: Decodable {
        var keys: Set<String>

        init(from decoder: any Decoder) throws {
            keys = Set(try decoder.container(keyedBy: MemberKey.self).allKeys.map(\.stringValue))
        }
    }
}
