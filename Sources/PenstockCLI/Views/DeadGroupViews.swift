import Penstock
import PenstockFormats

/// Dead letters that failed in the same way, for people and programs.
@MainActor
enum DeadGroupViews {
    /// Writes the first `limit` groups, and says so when there are more, or not all dead letters were looked at.
    static func show(_ page: DeadGroupPage, limit: Int, isJSON: Bool) throws {
        let groups = page.groups.prefix(limit)
        try Output().show(groups.map(\.json), or: table(groups).lines, isJSON: isJSON)
        if page.groups.count > limit {
            ErrorOutput.say("There are \(page.groups.count - limit) more than these; use --limit.")
        }
        if page.next != nil {
            ErrorOutput.say("These are of the last \(page.lookedAt) dead letters; there are older ones.")
        }
    }

    private static func table(_ groups: some Sequence<DeadGroup>) -> Table {
        var table = Table([
            .number("COUNT"), .text("QUEUE", widthMax: 30), .text("REASON"), .text("FIRST"), .text("LAST"),
            .number("EXAMPLE"), .text("ERROR", widthMax: MessageTables.previewColumns),
        ])
        for group in groups {
            table.add([
                "\(group.count)", Escape.text(group.queue.text), group.signature.reason?.rawValue ?? "",
                TimeText.short(group.firstAt), TimeText.short(group.lastAt), "\(group.example)",
                MessageTables.preview(Array(group.signature.error.utf8)),
            ])
        }
        return table
    }
}
