import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/v1/leases`: more time for what workers hold, and giving it back.
struct Leases: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("leases/extend", use: extend)
        v1.post("leases/release", use: release)
    }

    @Sendable private func extend(_ request: Request, _ context: ServerContext) async throws -> Response {
        let extensions = try await entries(ExtensionEntry.self, request, context).map(\.extension)
        try await Lookup(store: store).require(
            context.principal, .consume, extensions.map(\.lease.sequence), mayBeGone: true)
        let standings = try await store.storage.extend(extensions)
        return .json(
            .object([
                "leases": .array(
                    zip(extensions, standings).map { extended, standing in
                        .object([
                            "sequence": .integer(extended.lease.sequence.rawValue),
                            "standing": .string(standing.word),
                            "cancelRequested": .bool(standing == .cancelRequested),
                        ])
                    })
            ]))
    }

    @Sendable private func release(_ request: Request, _ context: ServerContext) async throws -> Response {
        let leases = try await entries(ReleaseEntry.self, request, context).map(\.lease)
        try await Lookup(store: store).require(context.principal, .consume, leases.map(\.sequence), mayBeGone: true)
        let results = try await store.storage.settle(leases.map { Settlement($0, .release) })
        return .json(.object(["leases": .array(zip(leases, results).map { $1.json(of: $0.sequence) })]))
    }

    private func entries<Entry: Decodable>(
        _ type: Entry.Type, _ request: Request, _ context: ServerContext
    ) async throws -> [Entry] {
        try request.refuseParameters()
        try context.principal.require(.consume)
        return try await request.json(BoundedArray<Entry>.self, as: "The list of leases").elements
    }
}

private struct ExtensionEntry: Decodable {
    var `extension`: LeaseExtension

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, Lease.members.union(["by", "progress"]), of: "A lease")
        let progress: ProgressEntry? = try members.value("progress")
        `extension` = LeaseExtension(
            try Lease(members), by: try members.duration("by"), progress: progress?.progress)
    }
}

private struct ProgressEntry: Decodable {
    var progress: MessageProgress

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["fraction", "text"], of: "A progress")
        progress = MessageProgress(try members.value("fraction"), try members.value("text") ?? "")
    }
}

private struct ReleaseEntry: Decodable {
    var lease: Lease

    init(from decoder: any Decoder) throws {
        lease = try Lease(try Members(decoder, Lease.members, of: "A lease"))
    }
}

extension LeaseStanding {
    fileprivate var word: String {
        switch self {
        case .held: "held"
        case .cancelRequested: "cancelRequested"
        case .lost: "leaseLost"
        }
    }
}
