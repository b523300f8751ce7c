import Penstock

// Operating.

struct OperatingArticle {
    // shown
    func waiting(in path: String) async throws -> [String: Int] {
        let store = try await PenstockStore.open(path: path, options: .init(access: .readOnly))
        let depths = try await store.queues().map { ($0.name.text, $0.depths.waiting) }
        try await store.close()
        return Dictionary(uniqueKeysWithValues: depths)
    }
    // end

    // shown
    func isStuck(_ number: Int64, in store: PenstockStore) async throws -> Bool {
        let reason = try await store.waitReason(of: SequenceNumber(number))
        return reason.causes.contains { cause in
            guard case .permit(let other) = cause else { return false }
            return other.state == .dead
        }
    }
    // end
}
