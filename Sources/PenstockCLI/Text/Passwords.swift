/// Passwords in addresses of databases: what is said of an address is kept in logs and shown to others.
enum Passwords {
    /// `text` without the passwords of databases' addresses in it.
    static func hidden(in text: String) -> String {
        // Each line of a log comes here, and an expression takes longer than all else that is done with one.
        guard mayHold(text) else { return text }
        return text.replacing(#/(password=)[^&\s'"]*/#) { "\($0.output.1)***" }
            .replacing(#/(?i)(\bpostgres(?:ql)?:/+[^:@\s/]*):\S*@/#) { "\($0.output.1)@" }
    }

    /// Whether there is what the expressions look for: the end of an address's user, or a password by its name.
    private static func mayHold(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.indices.contains { index in
                bytes[index] == UInt8(ascii: "@")
                    || bytes[index] == UInt8(ascii: "=") && bytes[..<index].suffix(8).elementsEqual("password".utf8)
            }
        }
    }

    /// `address` without the password in it, of whatever scheme it is. Characters that belong to none are taken for a part of it.
    static func hidden(address: String) -> String {
        hidden(in: address).replacing(#/^(\w+:/+[^:@/]*):(?s:.*)@/#) { "\($0.output.1)@" }
    }
}
