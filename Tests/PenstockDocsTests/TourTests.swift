import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// What documents show of the command, done as it is written: same commands, same output.
@Suite struct TourTests {
    private struct Step {
        var command: String
        var output: String
    }

    private func steps(in document: String) throws -> [Step] {
        try Documents.blocks("console", in: document).flatMap { block in
            ("\n" + block).components(separatedBy: "\n$ ").dropFirst().map { step in
                let lines = step.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                return Step(command: String(lines[0]), output: lines.count > 1 ? String(lines[1]) : "")
            }
        }
    }

    /// `text` without the times, which differ from day to day, and the spaces at the ends of lines.
    private func lasting(_ text: String) -> String {
        text.replacing(#/\d{4}-\d\d-\d\dT[\d:.]+Z/#, with: "TIME")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in String(line.reversed().drop { $0 == " " }.reversed()) }
            .joined(separator: "\n")
            .trimmingCharacters(in: .newlines)
    }

    private static let tours = Documents.all.filter { (try? Documents.blocks("console", in: $0).isEmpty) == false }

    @Test(.timeLimit(.minutes(5)), arguments: tours)
    func everyCommandPrintsWhatIsShown(document: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            // A server that a tour has started, and not ended because it failed before.
            if let text = try? String(contentsOf: folder.appending(path: "serve.pid"), encoding: .utf8),
                let server = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
            {
                kill(server, SIGKILL)
            }
            try? FileManager.default.removeItem(at: folder)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let steps = try steps(in: document)
        #expect(!steps.isEmpty)
        for step in steps {
            let result = try await run(
                .path("/bin/sh"), arguments: ["-c", step.command],
                environment: .inherit.updating([
                    "PATH": "\(BuiltPrograms.folder):\(path)", "PENSTOCK_DB": "penstock.db",
                ]),
                workingDirectory: FilePath(folder.path), output: .string(limit: 1 << 20), error: .string(limit: 1 << 20)
            )
            #expect(
                lasting(result.standardOutput) == lasting(step.output),
                "\(step.command): \(result.standardError)")
        }
    }
}
