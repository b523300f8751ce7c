/// A part of the site, as the navigation has it.
enum Section: String, CaseIterable {
    case overview, dead, messages, workers, schedules, workflows, audit, doctor

    var title: String {
        switch self {
        case .overview: "Overview"
        case .dead: "Dead letters"
        case .messages: "Messages"
        case .workers: "Workers"
        case .schedules: "Schedules"
        case .workflows: "Workflows"
        case .audit: "Audit"
        case .doctor: "Doctor"
        }
    }

    var path: String { self == .overview ? "/" : "/\(rawValue)" }
}
