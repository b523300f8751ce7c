import Testing

@testable import PenstockCLI

struct PasswordsTests {
    @Test(arguments: [
        ("postgres://mill:secret@db/shop", "postgres://mill@db/shop"),
        ("POSTGRESQL://mill:se@cr/et@db/shop", "POSTGRESQL://mill@db/shop"),
        ("postgres://mill:two words@db/shop", "postgres://mill@db/shop"),
        ("postgres://db/shop?password=secret&schema=a", "postgres://db/shop?password=***&schema=a"),
        ("mysql://u:secret@h/d", "mysql://u@h/d"),
        ("postgres://mill@db:5432/shop", "postgres://mill@db:5432/shop"),
        ("http://127.0.0.1:7700", "http://127.0.0.1:7700"),
        ("shop.db", "shop.db"),
    ])
    func anAddressIsShownWithoutIts(_ address: String, _ shown: String) {
        #expect(Passwords.hidden(address: address) == shown)
    }

    @Test func aSentenceIsShownWithoutThem() {
        #expect(
            Passwords.hidden(
                in: "There is no queue 'postgres://u:secret@h/d' at ada@example.org; see postgresql://h/d.")
                == "There is no queue 'postgres://u@h/d' at ada@example.org; see postgresql://h/d.")
    }
}
