package import Hummingbird
package import Penstock
package import PenstockCore
package import PenstockHTTP

/// The queues for people: pages that update themselves.
package struct Dashboard: Sendable {
    let site: Site

    /// - Parameters:
    ///   - store: the store that the pages show.
    ///   - health: what the doctor's page looks at; `nil`: nothing can be.
    ///   - name: what people call this server: it stands on every page.
    ///   - tokens: the tokens that visitors are asked for; `nil`: none is.
    ///   - isReadOnly: whether the pages change nothing.
    ///   - time: the clock by which the pages tell time.
    package init(
        store: PenstockStore, health: HealthSource?, name: String?, tokens: Tokens?, isReadOnly: Bool,
        time: any TimeSource
    ) {
        site = Site(
            store: store, live: Live(), audit: Audit(store.storage), health: health, name: name, isReadOnly: isReadOnly,
            tokens: tokens, time: time)
    }

    /// Looks at the queues' numbers for the charts, and tells open pages of changes, until the task is cancelled.
    package func run() async {
        await site.live.run(site.store, tokens: site.tokens, time: site.time)
    }

    /// Whether a request is for a page. Pages ask for a token by themselves, where it takes one: with a page, and not with a problem.
    package static func isAskedFor(_ request: Request) -> Bool {
        let first = request.uri.path.split(separator: "/", maxSplits: 1).first.map(String.init) ?? ""
        switch request.method {
        case .get, .head: return first.isEmpty || places.contains(first)
        // What is posted to the root is no form of a page.
        case .post: return places.contains(first)
        default: return false
        }
    }

    /// Whether a request is posted and changes nothing in the store: it says who its visitor is, or has the file looked at.
    package static func onlyLooks(_ request: Request) -> Bool {
        request.method == .post && ["/login", "/logout", "/doctor"].contains(request.uri.path)
    }

    private static let places: Set<String> = Set(Section.allCases.map(\.rawValue)).subtracting(["overview"])
        .union(["queues", "events", "assets", "login", "logout"])

    /// Adds the routes.
    package func add(to router: Router<ServerContext>) {
        let routes = Routes(router: router, site: site)
        SignInPages().add(to: routes)
        OverviewPage().add(to: routes)
        DeadLetterPages().add(to: routes)
        MessagesPage().add(to: routes)
        MessagePages().add(to: routes)
        QueuePages().add(to: routes)
        PolicyPages().add(to: routes)
        LogPages().add(to: routes)
        WorkersPage().add(to: routes)
        SchedulePages().add(to: routes)
        WorkflowPages().add(to: routes)
        AuditPage().add(to: routes)
        DoctorPage().add(to: routes)
    }
}
