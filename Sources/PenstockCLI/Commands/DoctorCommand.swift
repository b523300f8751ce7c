import ArgumentParser
import Penstock

/// `penstock doctor`
struct DoctorCommand: Subcommand {
    static let configuration = CommandConfiguration(commandName: "doctor")
    func execute() async throws {}
}
