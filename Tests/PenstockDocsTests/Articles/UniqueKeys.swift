import Penstock

// Unique keys. Their reader keeps an index of pages, and accounts that are refreshed.

struct Page: Codable, Sendable {
    var address: String
}

enum UniqueKeysArticle {
    // shown
    func changed(_ page: Page, _ pages: Queue<Page>) async throws {
        // Indexed once it has not changed for five seconds, and a minute after its first change at the latest.
        let key = UniqueKey(page.address, scope: .whileWaiting, onConflict: .debounce, waitMax: .seconds(60))
        try await pages.enqueue(page, options: .init(due: .after(.seconds(5)), uniqueKey: key))
    }
    // end

    // shown
    func refresh(_ account: String, _ refreshes: Queue<String>) async throws {
        let key = UniqueKey(account, scope: .whileWaiting, onConflict: .replace)
        try await refreshes.enqueue(account, options: .init(uniqueKey: key, group: account))
    }
    // end
}
