/// What to do, for those who speak HTTP and have no command line at the server's machine.
enum HTTPAdvice {
    /// What errors say of the command, and what does the same over HTTP.
    private static let all: [(command: String, http: String)] = [
        ("`penstock queue create` makes one", "PUT /v1/queues/NAME makes one"),
        ("`penstock limit set` makes one", "PUT /v1/limits/NAME makes one"),
        ("`penstock workflow list` names those there are", "GET /v1/workflows names those there are"),
        ("`penstock schedule list` names those there are", "GET /v1/schedules names those there are"),
        ("`penstock queue set` changes its policy", "PATCH /v1/queues/NAME changes its policy"),
        ("delete it with force (`--force`)", "delete it with ?force=true"),
        ("finish it with `penstock queue delete`", "finish it with DELETE /v1/queues/NAME"),
        (
            "`penstock queue set` gives it some, with --fifo or --limit-per-key",
            "PATCH /v1/queues/NAME gives it some, with \"groups\""
        ),
        (
            "`penstock queue set` gives it some, with --fifo, --limit-per-key or --fair",
            "PATCH /v1/queues/NAME gives it some, with \"groups\" or \"isFair\""
        ),
        (
            "`penstock queue set` has it shared, with --fair",
            "PATCH /v1/queues/NAME has it shared, with \"isFair\": true"
        ),
        ("give the queue some, with --fifo or --limit-per-key", "give the queue some, with \"groups\""),
        ("with `penstock queue set QUEUE --share-limit none`", "with PATCH /v1/queues/NAME and \"sharedLimit\": null"),
    ]

    /// `sentence`, with the way over HTTP where it names that of the command.
    static func instead(of sentence: String) -> String {
        guard sentence.contains("`") || sentence.contains("--") else { return sentence }
        return all.reduce(sentence) { $0.replacing($1.command, with: $1.http) }
    }
}
