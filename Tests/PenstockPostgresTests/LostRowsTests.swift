import Testing

@testable import PenstockPostgres

/// What a process removes as it ends of the connections that it has lost.
@Suite struct LostRowsTests {
    @Test func theLastOnesAreKeptAndComeFirst() {
        var lost = LostRows()
        for connection in Int64(1)...1000 { lost.add([2 * connection, 2 * connection + 1]) }
        #expect(lost.rows.count == LostRows.countMax)
        #expect(lost.rows.prefix(3) == [2001, 2000, 1999])
    }
}
