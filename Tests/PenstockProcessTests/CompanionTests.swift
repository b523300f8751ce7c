import Foundation
import Subprocess
import Testing

extension Faults {
    /// The programs that `penstock` becomes lie beside it. Where one was not built, its name says what to build.
    @Suite struct CompanionTests {
        @Test(arguments: [
            (["serve"], "penstock-server"), (["status", "--db", "unix:penstock.sock"], "penstock-remote"),
        ])
        func aMissingCompanionIsNamedWithWhatBuildsIt(arguments: [String], companion: String) async throws {
            try await Site.use { site in
                let program = "\(site.folder)/penstock"
                try FileManager.default.linkItem(atPath: "\(Site.program)", toPath: program)
                let end = try await site.start(FilePath(program), arguments, input: nil, output: nil).end
                #expect(end.status == .exited(127))
                #expect(end.errors.contains("\(site.folder)/\(companion), cannot be started"), "\(end.errors)")
                #expect(
                    end.errors.contains("tools/install") && end.errors.contains("--product \(companion)`"),
                    "\(end.errors)")
            }
        }
    }
}
