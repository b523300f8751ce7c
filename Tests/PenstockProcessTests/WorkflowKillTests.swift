import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Random graphs of tasks, whose producers and workers are killed at any moment.
    @Suite struct WorkflowKillTests {
        /// A graph as a file for `workflow run`, a task on each line, and what each task waits for.
        private struct Graph {
            var name: String
            var parents: [[Int]] = []

            init(_ name: String, _ random: SeededRandom) {
                self.name = name
                for task in 0..<random.next(in: 2...14) {
                    let wanted = random.next(in: 0...min(task, 3))
                    parents.append(Set((0..<wanted).map { _ in random.next(in: 0...(task - 1)) }).sorted())
                }
            }

            var lines: String {
                parents.enumerated().map { task, parents in
                    let after = parents.map { "\"t\($0)\"" }.joined(separator: ",")
                    return #"{"name":"t\#(task)","payload":"\#(name) t\#(task)","after":[\#(after)]}"# + "\n"
                }.joined()
            }
        }

        private static let note =
            #"IFS= read -r line; echo "$PENSTOCK_WORKFLOW $PENSTOCK_TASK begins"; "#
            + #"echo "$PENSTOCK_WORKFLOW $PENSTOCK_TASK ends""#
        private let work = ["work", "q", "--concurrency", "3", "--drain", "--", "sh", "-c", Self.note]

        /// Has producers start the graph, kills each at one of its first writes, and then lets one come to its end. The graph
        /// may have been there since one of the killed ones.
        private func start(_ graph: Graph, at site: Site, _ random: SeededRandom) async throws -> Int {
            let file = try site.write("\(graph.name).ndjson", graph.lines.utf8)
            let arguments = ["workflow", "run", file, "--queue", "q", "--name", graph.name]
            var killedCount = 0
            for _ in 1...2 {
                let end = try await site.strike(arguments, afterWrites: random.next(in: 1...4))
                if end.status == .signaled(SIGKILL) { killedCount += 1 }
            }
            try await site.succeed(arguments)
            return killedCount
        }

        /// Every task has begun after the ends of those that it waits for.
        private func expectOrder(_ notes: [String], _ graphs: [Graph], once: Bool) {
            var (begun, ended): ([String: [Int]], [String: Int]) = ([:], [:])
            for (index, note) in notes.enumerated() {
                let words = note.split(separator: " ").map(String.init)
                guard words.count == 3 else { continue }
                let task = "\(words[0]) \(words[1])"
                if words[2] == "begins" { begun[task, default: []].append(index) }
                if words[2] == "ends", ended[task] == nil { ended[task] = index }
            }
            for graph in graphs {
                for (task, parents) in graph.parents.enumerated() {
                    let name = "\(graph.name) t\(task)"
                    #expect(begun[name] != nil && ended[name] != nil, "\(name) did not run; \(Proofs.repeatable)")
                    if once { #expect(begun[name]?.count == 1, "\(name) ran twice; \(Proofs.repeatable)") }
                    for parent in parents {
                        let end = ended["\(graph.name) t\(parent)"] ?? .max
                        #expect(
                            end < (begun[name]?.first ?? -1),
                            "\(name) began before t\(parent) ended; \(Proofs.repeatable)")
                    }
                }
            }
        }

        @Test func eachTaskRunsOnceAfterItsParentsWhenNothingIsKilled() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "q"])
                    let graphs = (1...12 * Proofs.scale).map { Graph("w\($0)", random) }
                    for graph in graphs {
                        try await site.succeed(
                            ["workflow", "run", "-", "--queue", "q", "--name", graph.name],
                            input: Array(graph.lines.utf8))
                    }
                    let lines = try Lines()
                    let workers = [
                        try await site.start(work, output: lines.writeEnd),
                        try await site.start(work, output: lines.writeEnd),
                    ]
                    for worker in workers { #expect(try await worker.end.status == .exited(0)) }
                    // What one worker has at the end may have children that the other, drained, has not waited for.
                    let last = try await site.start(work, output: lines.writeEnd)
                    try lines.closeWriteEnd()
                    let notes = try await lines.rest()
                    #expect(try await last.end.status == .exited(0))
                    expectOrder(notes, graphs, once: true)
                    try await expectAllDone(graphs, at: site)
                }
            }
        }

        @Test func eachGraphEndsThoughProducersAndWorkersAreKilled() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["queue", "create", "q", "--attempts", "1000", "--retry-base", "0"])
                    // While somebody has the file open, the write-ahead log stays where it is.
                    let holder = try DatabaseQueue(path: site.file)
                    defer { try? holder.close() }
                    var (notes, graphs, killedCount): ([String], [Graph], Int) = ([], [], 0)
                    for round in 1...6 * Proofs.scale {
                        let lines = try Lines()
                        let graph = Graph("w\(round)", random)
                        graphs.append(graph)
                        killedCount += try await start(graph, at: site, random)
                        let workers = [
                            try await site.start(work, output: lines.writeEnd),
                            try await site.start(work, output: lines.writeEnd),
                        ]
                        try lines.closeWriteEnd()
                        notes += try await lines.next(random.next(in: 1...6))
                        for worker in workers { worker.send(SIGKILL) }
                        notes += try await lines.rest()
                        for worker in workers {
                            if try await worker.end.status == .signaled(SIGKILL) { killedCount += 1 }
                        }
                    }
                    #expect(killedCount > 0, Proofs.repeatable)
                    let lines = try Lines()
                    let last = try await site.start(work, output: lines.writeEnd)
                    try lines.closeWriteEnd()
                    notes += try await lines.rest()
                    #expect(try await last.end.status == .exited(0), Proofs.repeatable)
                    expectOrder(notes, graphs, once: false)
                    try await expectAllDone(graphs, at: site)
                }
            }
        }

        private func expectAllDone(_ graphs: [Graph], at site: Site) async throws {
            for graph in graphs {
                let shown = try await site.succeed(["workflow", "show", graph.name])
                #expect(shown.output.hasPrefix("\(graph.name) done"), "\(shown.output) \(Proofs.repeatable)")
            }
            #expect(
                try site.number("SELECT count(*) FROM penstock_messages")
                    == graphs.reduce(0) { $0 + $1.parents.count }, Proofs.repeatable)
            try await site.expectHealthy()
        }
    }
}
