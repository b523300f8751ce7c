import Testing

@testable import PenstockPostgres

/// Which servers a process uses, by the timelines of their logs.
@Suite struct KnownServersTests {
    @Test func aServerOfAnEarlierTimelineIsNotUsed() {
        let servers = KnownServers()
        #expect(!servers.hasSeenLater(than: 1))
        #expect(servers.admits(2) { "a" })
        #expect(servers.admits(2) { nil })
        #expect(!servers.admits(1) { "a" })
        // One that does not say which system it is of may be of the same.
        #expect(!servers.admits(1) { nil })
        #expect(servers.admits(3) { "a" })
        #expect(!servers.admits(2) { "a" })
        #expect(servers.hasSeenLater(than: 2) && !servers.hasSeenLater(than: 3) && !servers.hasSeenLater(than: nil))
    }

    /// As a server has after `pg_upgrade`.
    @Test func anotherSystemHasTimelinesOfItsOwn() {
        let servers = KnownServers()
        #expect(servers.admits(5) { "a" })
        #expect(servers.admits(1) { "b" })
        #expect(!servers.hasSeenLater(than: 1))
        #expect(servers.admits(2) { "b" })
        #expect(!servers.admits(1) { "b" })
    }

    @Test func theOneThatWasFoundIsAskedFirst() {
        let servers = KnownServers()
        let hosts = ["a", "b", "c"].map { ServerAddress.Host(parameters: ["host": $0]) }
        #expect(servers.inTurn(hosts) == hosts)
        servers.note(hosts[1])
        #expect(servers.inTurn(hosts) == [hosts[1], hosts[0], hosts[2]])
        servers.note(nil)
        #expect(servers.inTurn(hosts) == hosts)
    }
}
