import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// Files of several names, as backups are whose unchanged files are linked to those of the day before.
@Suite(.timeLimit(.minutes(5))) struct OtherNamesTests {
    private let folder = TemporaryFolder()

    #if os(Linux)
        /// A program that looks at one old backup after the other would have no descriptors left.
        @Test func whatIsGoneAndOpenNowhereIsLetGo() throws {
            func heldCount() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { file in
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + file)
                    return target?.hasPrefix(folder.path) == true
                }
            }
            for number in 1...9 {
                let (file, other) = (folder.file("\(number).db"), folder.file("\(number).other"))
                try Data("a database of another day".utf8).write(to: URL(fileURLWithPath: file))
                try FileManager.default.linkItem(atPath: file, toPath: other)
                #expect(try OtherNames.mustBeStill(file))
                for name in [file, other] { try FileManager.default.removeItem(atPath: name) }
            }
            #expect(try heldCount() <= 1)
        }
    #endif

    /// What no command writes is not all well, and a copy of yesterday's backup is no fault.
    @Test func theDoctorNotesThatSuchAFileIsOnlyRead() async throws {
        let path = folder.file("queue.db")
        try await SQLiteStore.openWithJobs(path).close()
        #expect(try await SQLiteStore.inspectHealth(path: path).findings == [])
        try FileManager.default.linkItem(atPath: path, toPath: folder.file("other.db"))
        let report = try await SQLiteStore.inspectHealth(path: path)
        #expect(report.findings.map(\.kind) == [.otherNames])
        #expect(report.findings.first?.message.contains("has 2 names (hard links)") == true)
        #expect(report.isHealthy)
    }

    @Test func aFileOfOneNameNeedNotBeStill() throws {
        let file = folder.file("one.db")
        try Data("a database".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try !OtherNames.mustBeStill(file))
        try OtherNames.refuse(file)
        try FileManager.default.linkItem(atPath: file, toPath: folder.file("two.db"))
        #expect(try OtherNames.mustBeStill(file))
        let error = #expect(throws: PenstockError.self) { try OtherNames.refuse(file) }
        #expect(error?.code == .invalidInput)
    }
}
