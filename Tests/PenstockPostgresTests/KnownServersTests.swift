import Testing

@testable import PenstockPostgres

/// Which servers a process uses, by the timelines of their logs.
@Suite struct KnownServersTests {
    private let hosts = ["a", "b", "c"].map { ServerAddress.Host(parameters: ["host": $0]) }

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

    @Test func aPlaceThatWasRefusedIsNotAskedForAWhile() {
        let servers = KnownServers()
        let start = ContinuousClock.now
        servers.note(hosts[1])
        servers.refuse(hosts[1], now: start)
        #expect(servers.inTurn(hosts, now: start) == [hosts[0], hosts[2]])
        servers.refuse(hosts[0], now: start)
        #expect(servers.inTurn(hosts, now: start) == [hosts[2]])
        // Where all were refused, all are asked.
        servers.refuse(hosts[2], now: start)
        #expect(servers.inTurn(hosts, now: start) == hosts)
        #expect(servers.inTurn(hosts, now: start + .seconds(3)) == hosts)
        servers.refuse(hosts[0], now: start)
        servers.forgetRefusals()
        #expect(servers.inTurn(hosts, now: start) == hosts)
    }

    /// A connection that reads its server's timeline while another one finds a later one is not let in.
    @Test func aLaterTimelineThatIsSeenMeanwhileCounts() {
        let servers = KnownServers()
        let isAdmitted = servers.admits(1) {
            _ = servers.admits(2) { "a" }
            return "a"
        }
        #expect(!isAdmitted && servers.hasSeenLater(than: 1))
        // Which system it is of is not forgotten for one that does not say.
        #expect(servers.admits(3) { nil })
        #expect(!servers.admits(1) { "a" } && servers.admits(1) { "b" })
    }

    /// As a restore puts new ones in place.
    @Test func locksStandForTheTablesThatWereSeenLast() {
        let servers = KnownServers()
        #expect(!servers.hasSeenOther(than: 7))
        servers.note(table: 7)
        #expect(!servers.hasSeenOther(than: 7) && servers.hasSeenOther(than: 6) && !servers.hasSeenOther(than: nil))
    }

    @Test func theOneThatWasFoundIsAskedFirst() {
        let servers = KnownServers()
        #expect(servers.inTurn(hosts) == hosts)
        servers.note(hosts[1])
        #expect(servers.inTurn(hosts) == [hosts[1], hosts[0], hosts[2]])
    }
}
