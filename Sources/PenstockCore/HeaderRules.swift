/// What headers may look like. The rules are such that each becomes one environment variable of a command.
package enum HeaderRules {
    /// Throws ``PenstockError`` with code `invalidInput` when a header breaks a rule; of several it tells the first by name.
    package static func validate(_ headers: [String: String]) throws(PenstockError) {
        do throws(PenstockError) {
            try check(headers)
        } catch {
            // The order of a dictionary is by chance, and only what is refused has to be sorted.
            try check(headers.sorted { $0.key < $1.key })
        }
    }

    private static func check(_ headers: some Collection<(key: String, value: String)>) throws(PenstockError) {
        try require(headers.count <= Limits.headerCountMax, "A message has at most \(Limits.headerCountMax) headers.")
        var bytes = 0
        var variables: Set<String> = []
        for (name, value) in headers {
            try require(
                (1...Limits.headerNameBytesMax).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte),
                "A header's name has 1 to \(Limits.headerNameBytesMax) letters, digits, '-', '_' or '.'.")
            try require(!value.utf8.contains(0), "The value of the header '\(name)' holds a zero byte.")
            // One alone is called as no other.
            if headers.count > 1 {
                try require(
                    variables.insert(variable(of: name)).inserted,
                    "Two headers are called '\(name)' but for case and punctuation; rename one.")
            }
            bytes += name.utf8.count + value.utf8.count
        }
        try require(bytes <= Limits.headerBytesMax, "A message's headers have at most \(Limits.headerBytesMax) bytes.")
    }

    /// The environment variable by which a command sees the header `name`: `PENSTOCK_HEADER_` and the name in
    /// capitals, with `_` for `-` and `.`.
    package static func variable(of name: String) -> String {
        "PENSTOCK_HEADER_"
            + name.uppercased().map { $0 == "-" || $0 == "." ? "_" : String($0) }.joined()
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}
