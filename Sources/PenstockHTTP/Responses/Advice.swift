/// To whom an error's advice is told: a client of the API and a visitor of the dashboard have no command line at the server's machine.
///
/// Errors name the command that helps. A row says the same with a request, and with a page where one does it.
package enum Advice: Sendable {
    /// As the error says it.
    case command
    /// With a request.
    case http
    /// With a page of the dashboard, or with the command where none does it.
    case pages

    private static let all: [(command: String, http: String, pages: String?)] = [
        ("`penstock queue create` makes one", "PUT /v1/queues/NAME makes one", "it has to be made first"),
        ("`penstock limit set` makes one", "PUT /v1/limits/NAME makes one", nil),
        (
            "`penstock workflow list` names those there are", "GET /v1/workflows names those there are",
            "the page Workflows names those there are"
        ),
        (
            "`penstock schedule list` names those there are", "GET /v1/schedules names those there are",
            "the page Schedules names those there are"
        ),
        (
            "`penstock queue set` changes its policy", "PATCH /v1/queues/NAME changes its policy",
            "its own page changes its policy"
        ),
        (
            "delete it with force (`--force`)", "delete it with ?force=true",
            "delete it also if messages wait or run"
        ),
        (
            "finish it with `penstock queue delete`", "finish it with DELETE /v1/queues/NAME",
            "finish it by deleting it once more"
        ),
        (
            "finish it with `penstock queue delete --force`", "finish it with DELETE /v1/queues/NAME?force=true",
            "finish it by deleting it once more, also if messages wait or run"
        ),
        (
            "`penstock queue set` gives it some, with --fifo or --limit-per-key",
            "PATCH /v1/queues/NAME gives it some, with \"groups\"", "a change of its policy gives it some"
        ),
        (
            "`penstock queue set` gives it some, with --fifo, --limit-per-key or --fair",
            "PATCH /v1/queues/NAME gives it some, with \"groups\" or \"isFair\"", "a change of its policy gives it some"
        ),
        (
            "`penstock queue set` has it shared, with --fair",
            "PATCH /v1/queues/NAME has it shared, with \"isFair\": true", "a change of its policy has it shared"
        ),
        (
            "give the queue some, with --fifo or --limit-per-key", "give the queue some, with \"groups\"",
            "give the queue some"
        ),
        (
            "with `penstock queue set QUEUE --share-limit none`",
            "with PATCH /v1/queues/NAME and \"sharedLimit\": null", nil
        ),
    ]

    /// `sentence`, with the way of those for whom this is where it names that of the command.
    func instead(of sentence: String) -> String {
        guard self != .command, sentence.contains("`") || sentence.contains("--") else { return sentence }
        return Self.all.reduce(sentence) { sentence, row in
            sentence.replacing(row.command, with: self == .http ? row.http : row.pages ?? row.command)
        }
    }
}
