/// Passwords in addresses of databases: what is said of an address is kept in logs and shown to others.
enum Passwords {
    /// `text` without the passwords of databases' addresses in it.
    static func hidden(in text: String) -> String {
        text.replacing(#/(password=)[^&\s'"]*/#) { "\($0.output.1)***" }
            .replacing(#/(?i)(\bpostgres(?:ql)?:/+[^:@\s/]*):\S*@/#) { "\($0.output.1)@" }
    }

    /// `address` without the password in it, of whatever scheme it is. Characters that belong to none are taken for a part of it.
    static func hidden(address: String) -> String {
        hidden(in: address).replacing(#/^(\w+:/+[^:@/]*):(?s:.*)@/#) { "\($0.output.1)@" }
    }
}
