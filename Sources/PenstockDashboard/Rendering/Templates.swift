import Mustache

/// What a template is filled with. Values are texts, flags, lists of the like, and ``Markup``; what is missing is nothing.
typealias Fields = [String: Any]

/// HTML that this program has made, and that holds nothing foreign: templates take it with three braces.
typealias Markup = String

/// The templates of the pages, which are part of the program.
enum Templates {
    /// The page that the template makes of `fields`.
    static func render(_ name: String, _ fields: Fields) -> String {
        // Every template is there and can be read: a test renders each.
        library.render(fields, withTemplate: name) ?? ""
    }

    /// Names of all templates.
    static var names: [String] { sources.keys.sorted() }

    // Read when the first page is asked for, and not when the server starts.
    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(PageText(), named: PageText.name)
        var library = MustacheLibrary()
        for (name, bytes) in sources {
            let text = "{{% CONTENT_TYPE:\(PageText.name)}}" + String(decoding: bytes, as: UTF8.self)
            do {
                try library.register(text, named: name)
            } catch {
                preconditionFailure("The template \(name) cannot be read: \(error)")
            }
        }
        return library
    }()

    private static let sources: [String: [UInt8]] = [
        "layout": PackageResources.layout_mustache,
        "problem": PackageResources.problem_mustache,
        "login": PackageResources.login_mustache,
        "charts": PackageResources.charts_mustache,
        "tiles": PackageResources.tiles_mustache,
        "overview": PackageResources.overview_mustache,
        "dead": PackageResources.dead_mustache,
        "messages": PackageResources.messages_mustache,
        "message": PackageResources.message_mustache,
        "queue": PackageResources.queue_mustache,
        "queueNew": PackageResources.queueNew_mustache,
        "policy": PackageResources.policy_mustache,
        "policyFields": PackageResources.policyFields_mustache,
        "workers": PackageResources.workers_mustache,
        "log": PackageResources.log_mustache,
        "schedules": PackageResources.schedules_mustache,
        "schedule": PackageResources.schedule_mustache,
        "workflows": PackageResources.workflows_mustache,
        "workflow": PackageResources.workflow_mustache,
        "audit": PackageResources.audit_mustache,
        "doctor": PackageResources.doctor_mustache,
    ]
}
