import PenstockCore
import PenstockSQL

/// Giving the pages of messages that were forgotten back to the file system.
enum FreePages {
    /// Pages given back in one step: 4 MiB.
    static let stepMax = 1000
    /// Pages that stay with the file, since the next messages will want them: 1 MiB.
    private static let keptCount: Int64 = 256

    /// Gives back a step's worth of pages.
    ///
    /// - Returns: whether there are more.
    static func giveBack(_ connection: Connection) throws -> Bool {
        let free = try connection.integer(countFree) ?? 0
        let wanted = min(Int64(stepMax), free - keptCount)
        if wanted <= 0 { return false }
        let statement = try connection.statement(vacuum)
        defer { statement.reset() }
        // Each row of the answer is one page given back.
        var given: Int64 = 0
        while given < wanted, try statement.step() { given += 1 }
        // A file that was not made to give pages back gives none.
        return given == wanted && free - given > keptCount
    }

    private static let countFree = Query("PRAGMA freelist_count")
    private static let vacuum = Query("PRAGMA incremental_vacuum")
}
