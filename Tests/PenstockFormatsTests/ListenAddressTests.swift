import PenstockCore
import PenstockFormats
import Testing

@Suite struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:7700", ListenAddress.port(host: "127.0.0.1", 7700), true),
        ("localhost:0", .port(host: "localhost", 0), true),
        ("[::1]:80", .port(host: "::1", 80), true),
        ("0.0.0.0:7700", .port(host: "0.0.0.0", 7700), false),
        ("queue.example:7700", .port(host: "queue.example", 7700), false),
        ("127.1.2.3:80", .port(host: "127.1.2.3", 80), true),
        ("127.evil.example:80", .port(host: "127.evil.example", 80), false),
        ("127.0.0.1.evil.example:80", .port(host: "127.0.0.1.evil.example", 80), false),
        ("127.0.0.300:80", .port(host: "127.0.0.300", 80), false),
        ("unix:/run/penstock.sock", .unix(path: "/run/penstock.sock"), true),
    ])
    func reads(text: String, address: ListenAddress, isLocal: Bool) throws {
        let read = try ListenAddress(text)
        #expect(read == address)
        #expect(read.isLocal == isLocal)
        #expect(read.description == text)
    }

    @Test(arguments: [
        "", "7700", ":7700", "localhost", "localhost:", "localhost:70000", "localhost:-1", "::1:80", "unix:",
    ])
    func refuses(text: String) {
        let error = #expect(throws: PenstockError.self) { try ListenAddress(text) }
        #expect(error?.code == .invalidInput)
    }
}
