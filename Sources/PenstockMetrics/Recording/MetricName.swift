/// Names as Prometheus has them.
enum MetricName {
    /// A program's name for a measurement: other characters than letters, digits and colons become underscores.
    static func name(_ label: String) -> String { made(of: label, with: ":") }

    /// The names of a program's dimensions, which come out different from each other, and from those that the format itself adds: a
    /// label that is there twice costs the whole scrape.
    static func labelNames(_ names: [String], of kind: PrometheusText.Kind) -> [String] {
        var taken: Set<String> = kind == .histogram ? ["__name__", "le"] : ["__name__"]
        return names.map { name in
            var label = made(of: name, with: "")
            while !taken.insert(label).inserted { label += "_" }
            return label
        }
    }

    // Scalar by scalar: it is asked at each request, and what a letter is in Unicode takes long to find out.
    private static func made(of text: String, with others: String) -> String {
        var name = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9": name.append(scalar)
            default: name.append(others.unicodeScalars.contains(scalar) ? scalar : "_")
            }
        }
        let startsWrong = name.first.map { ("0"..."9").contains($0) } ?? true
        return startsWrong ? "_" + String(name) : String(name)
    }
}

/// What measurements are, in a sentence.
enum MetricHelp {
    /// The sentence for the measurement that programs call `label`.
    static func text(of label: String) -> String {
        known[label] ?? "What the program records as \(label)."
    }

    /// Those of Penstock itself: `PenstockStore.Options.metrics` has the list.
    private static let known = [
        "penstock.enqueued": "Messages that this process enqueued, dropped arrivals included, skipped ones not.",
        "penstock.skipped": "Messages that this process did not enqueue, as another has their unique key.",
        "penstock.dropped": "Messages that overflow dropped as this process enqueued.",
        "penstock.claimed": "Messages that this process leased.",
        "penstock.done": "Messages that this process finished.",
        "penstock.retried": "Failed attempts of this process that another one follows.",
        "penstock.dead": "Messages that became dead letters in this process.",
        "penstock.released": "Messages that this process gave back unworked.",
        "penstock.suspended": "Attempts of this process that stopped to wait for a moment, an event or another worker.",
        "penstock.lease_lost": "Settles of this process that came after the lease had ended.",
        "penstock.store_errors": "Calls of this process that the store failed and that are made again.",
        "penstock.wait": "From the acceptance of a message to its claim by this process.",
        "penstock.work": "How long handlers of this process ran.",
        "penstock.running": "Handlers that run in this process now.",
        "penstock.depth": "Messages by state, as of the last time that this process asked.",
        "penstock.ready_age":
            "Seconds that the oldest ready message had waited, as of the last time that this process asked.",
        "penstock.lease_age": "Seconds that the oldest lease had lasted, as of the last time that this process asked.",
        "penstock.http.request.duration":
            "From a request's head to its response's, by the route's template; waiting for messages is a part of it.",
    ]
}
