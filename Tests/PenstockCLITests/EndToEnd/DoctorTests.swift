import Foundation
import Subprocess
import Testing

/// What `penstock doctor --repair` says and does to files that somebody has damaged by hand.
@Suite(.timeLimit(.minutes(5)))
struct DoctorTests {
    /// A tool whose queue has five messages, of which the first is done, after `sql` by hand.
    private func damaged(_ sql: String) async throws -> Tool {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n4\n5\n".utf8))
        try await tool.succeed(["work", "q", "--max", "1", "--", "true"])
        #expect(try await tool.sql(sql) == "")
        return tool
    }

    @Test(arguments: [
        (
            "UPDATE penstock_depth SET ready = 1",
            "fail  queue q: The queue 'q' is said to have 1 message ready, and has 4.",
            "The messages of 1 queue were counted anew.", ""
        ),
        (
            "DELETE FROM penstock_log WHERE sequence = 3", "fail  1 message is in line and not in the log: 3.",
            "1 row of penstock_ready that is in line and not in the log was set aside.", "penstock_ready|3\n"
        ),
        (
            "DELETE FROM penstock_ready WHERE sequence = 4",
            "fail  1 message has no place in the line, or several: 4.",
            "1 message that had no place in the line became a dead letter; redrive or discard it.", ""
        ),
        (
            "UPDATE penstock_state SET last_sequence = 2",
            "fail  The last sequence number given is said to be 2, and the log has one of 5; run `penstock doctor --repair`.",
            "The next sequence numbers are 1000000000 ahead of every known one, so that none is given twice.", ""
        ),
        (
            "DROP INDEX penstock_log_queue",
            "fail  The index penstock_log_queue is missing; `penstock doctor --repair` makes it anew.",
            "The index penstock_log_queue was made anew.", ""
        ),
        (
            "UPDATE penstock_log SET headers = 'no JSON' WHERE sequence = 3",
            "fail  1 message has headers that cannot be read, and count as none: 3.",
            "1 message whose headers could not be read has none; a copy was set aside.", "penstock_log|3\n"
        ),
        (
            "UPDATE penstock_log SET headers = '{\"a=b\": \"1\"}' WHERE sequence = 3",
            "fail  1 message has headers that break the rules (names, zero bytes or size), and no command can be given them: 3.",
            "1 message whose headers broke the rules has none; a copy was set aside.", "penstock_log|3\n"
        ),
        (
            "INSERT INTO penstock_worker VALUES (71, '../victim', 'w', 1, 'b', 0)",
            "fail  1 row of penstock_worker names a file that no worker makes; `penstock doctor --repair` removes it.",
            "1 row of penstock_worker that named a file which no worker makes was removed.", ""
        ),
        (
            "UPDATE penstock_log SET enqueued_at = 9223372036854775807 WHERE sequence = 3",
            "fail  1 row of penstock_log has a time enqueued_at that cannot be; run `penstock doctor --repair`.",
            "1 row of penstock_log had a time enqueued_at that cannot be, and has the present; a copy was set aside.",
            "penstock_log|3\n"
        ),
    ])
    func aRepairSaysWhatItDoes(_ sql: String, finding: String, repair: String, aside: String) async throws {
        let tool = try await damaged(sql)
        let found = try await tool.run(["doctor"])
        #expect(found.status == .exited(1))
        #expect(found.lines.contains(finding), "\(found.output)")
        let failed = found.lines.count { $0.hasPrefix("fail") }
        #expect(
            found.errors
                == "penstock: \(failed) of the checks failed; `penstock doctor --repair --dry-run` says what can "
                + "be repaired.\n")

        let before = try await tool.sql(".dump")
        let wouldBe = try await tool.run(["doctor", "--repair", "--dry-run"])
        #expect(wouldBe.status == .exited(1))
        #expect(wouldBe.lines.contains("would be repaired  \(repair)"), "\(wouldBe.output)")
        #expect(wouldBe.lines.contains(finding))
        #expect(wouldBe.errors == "penstock: \(failed) of the checks failed, and nothing was repaired.\n")
        #expect(try await tool.sql(".dump") == before, "A dry run changes nothing.")

        let repaired = try await tool.succeed(["doctor", "--repair"])
        #expect(repaired.lines.contains("repaired  \(repair)"), "\(repaired.output)")
        #expect(!repaired.lines.contains { $0.hasPrefix("fail") || $0.hasPrefix("would") })
        #expect(repaired.errors == "")
        #expect(try await tool.sql("SELECT source, sequence FROM penstock_quarantined") == aside)
        let sound = try await tool.succeed(["doctor", "--repair"])
        #expect(sound.lines.first == "ok    there is nothing to repair")
        // The queue goes on.
        try await tool.succeed(["enqueue", "q", "6"])
        try await tool.succeed(["work", "q", "--drain", "--", "true"])
        try await tool.succeed(["doctor"])
    }

    /// A warning is no failure.
    @Test func theFolderBesideTheFileIsPutInOrder() async throws {
        let tool = try await Tool.withQueue()
        let file = "\(tool.folder)/test.db-penstock/writers-4"
        #expect(chmod(file, 0o666) == 0)
        let found = try await tool.succeed(["doctor"]).lines
        #expect(found.contains { $0.hasPrefix("warn  ") && $0.contains("writers-4 can be used by users who cannot") })
        let wouldBe = try await tool.succeed(["doctor", "--repair", "--dry-run"]).lines
        #expect(wouldBe.first?.hasSuffix("writers-4 was given the database's owner and mode.") == true)
        #expect(wouldBe.first?.hasPrefix("would be repaired  ") == true)
        let repaired = try await tool.succeed(["doctor", "--repair"]).lines
        #expect(repaired.first?.hasPrefix("repaired  ") == true)
        #expect(repaired.contains("ok    the folder beside the file is in order"))
    }

    /// A repair would make of half a copy a whole queue, or none: both are for whoever copies it.
    @Test(arguments: [
        (
            "5",
            "1 queue of a copy from old.db takes and gives nothing before all of it is there; if no program is at it, run the "
                + "same `penstock copy` again, or give it up with `penstock copy --cancel --from old.db` and `--to` this store."
        ),
        (
            "-1",
            "1 queue of a copy from old.db that was broken off takes and gives nothing; remove what has come with "
                + "`penstock copy --cancel --from old.db` and `--to` this store."
        ),
    ])
    func halfACopyIsNamedAndLeftAlone(_ place: String, finding: String) async throws {
        let tool = try await damaged(
            """
            UPDATE penstock_queue SET deleting = 1;
            INSERT INTO penstock_arrival VALUES ('m', 's', 'old.db', 0, 1, 9, 0, 0, \(place), 0, NULL);
            INSERT INTO penstock_arriving SELECT id, 'm', 1 FROM penstock_queue
            """)
        let rows = """
            SELECT deleting FROM penstock_queue; SELECT * FROM penstock_arrival; SELECT * FROM penstock_arriving;
            SELECT * FROM penstock_ready; SELECT * FROM penstock_depth
            """
        let before = try await tool.sql(rows)
        for option in [[], ["--repair"]] {
            let lines = try await tool.succeed(["doctor"] + option).lines
            #expect(lines.contains("warn  \(finding)"), "\(lines)")
            #expect(!lines.contains { $0.hasPrefix("repaired") || $0.hasPrefix("ok    no queue waits for the rest") })
        }
        #expect(try await tool.sql(rows) == before)
    }

    @Test func asJSONItSaysTheSame() async throws {
        let tool = try await damaged("DELETE FROM penstock_ready WHERE sequence = 4")
        let wouldBe = try await tool.run(["doctor", "--repair", "--dry-run", "--json"])
        #expect(wouldBe.status == .exited(1))
        let said = try wouldBe.objects()
        #expect(said.count == 2)
        #expect(said[0]["isDryRun"].flag == true)
        #expect(said[0]["repairs"][0]["kind"].text == "misplaced")
        #expect(said[0]["repairs"][0]["count"].number == 1)
        #expect(said[1]["isHealthy"].flag == false)
        let repaired = try await tool.succeed(["doctor", "--repair", "--json"]).objects()
        #expect(repaired[0]["isDryRun"].flag == false)
        #expect(repaired[0]["repairs"] == said[0]["repairs"])
        #expect(repaired[1]["isHealthy"].flag == true)
        #expect(try await tool.payloads("dead") == ["4"])
    }

    /// What a repair cannot mend: pages that are damaged, another schema.
    @Test func whatItCannotMendIsRefused() async throws {
        let tool = try await damaged("INSERT INTO penstock_migration VALUES (99, 'later', 0)")
        try await tool.fail(["doctor", "--repair"], with: 78, saying: "schema version 99")
        try await tool.fail(["doctor", "--dry-run"], with: 64, saying: "--dry-run is for --repair")
        let older = try Tool.empty()
        #expect(try await older.sql(".read '\(Tool.schema.path)/0001_log.sql'") == "")
        try await older.fail(["doctor", "--repair"], with: 78, saying: "run `penstock migrate` to bring it up to date")
    }

    @Test func aDamagedFileIsNotRepaired() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(
            ["enqueue", "q", "--lines"], input: Array(String(repeating: "payload\n", count: 5000).utf8))
        #expect(try await tool.sql("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0\n")
        let path = "\(tool.folder)/test.db"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes.replaceSubrange(60_000..<90_000, with: [UInt8](repeating: 0xA5, count: 30_000))
        try bytes.write(to: URL(filePath: path))
        try await tool.fail(["doctor", "--repair"], with: 65, saying: "damaged")
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)

        let found = try await tool.run(["doctor"])
        #expect(found.status == .exited(1))
        #expect(found.lines.contains { $0.hasPrefix("fail  SQLite finds the file damaged: ") }, "\(found.output)")
        #expect(!found.output.contains("*** in database"), "What SQLite says is on one line.")
        #expect(!found.lines.contains { $0.hasPrefix("ok    the write-ahead log") }, "Nobody has looked at it.")
        #expect(found.errors.hasSuffix(" of the checks failed.\n"), "Nothing can be repaired: \(found.errors)")
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
    }

    /// What a repair refuses as damage, a look finds as well.
    @Test(arguments: [
        ("PRAGMA ignore_check_constraints = 1; UPDATE penstock_queue SET retain_age = -1", "CHECK constraint failed"),
        ("DELETE FROM penstock_migration WHERE version = 4", "penstock_migration has lost rows"),
        ("DELETE FROM penstock_migration WHERE version = 10", "penstock_migration has lost rows"),
    ])
    func aLookFindsWhatARepairRefuses(_ sql: String, words: String) async throws {
        let tool = try await damaged(sql)
        try await tool.fail(["doctor", "--repair"], with: 65, saying: words)
        let found = try await tool.run(["doctor"])
        #expect(found.status == .exited(1))
        #expect(found.lines.contains { $0.hasPrefix("fail") && $0.contains(words) }, "\(found.output)")
        #expect(!found.lines.contains("ok    the file's structure is sound"))
        #expect(!found.lines.contains { $0.hasPrefix("ok    schema version ?") })
        #expect(found.errors == "penstock: 1 of the checks failed.\n")
    }

    /// Of a check that was not carried out nothing is said to be well.
    @Test func whatWasNotCheckedIsNotSaidToBeWell() async throws {
        let tool = try await damaged("DROP TABLE penstock_outcome")
        let found = try await tool.run(["doctor"])
        #expect(found.status == .exited(1))
        #expect(found.lines.contains { $0.hasPrefix("fail  What the file says of the messages' places") })
        #expect(!found.lines.contains("ok    every message is in its place"))
        #expect(!found.lines.contains("ok    the queues count what is there"))
        #expect(!found.lines.contains("ok    every time is one that can be"))
        #expect(found.lines.contains("ok    every cursor is in its log"))
        #expect(found.errors.hasSuffix(" of the checks failed.\n"))
    }

    /// What every other command refuses is no sound file to a script either.
    @Test func whatOtherCommandsRefuseFails() async throws {
        let tool = try await Tool.withQueue()
        #expect(try await tool.sql("INSERT INTO penstock_migration VALUES (999, 'later', 0)") == "")
        let newer = try await tool.run(["doctor"])
        #expect(newer.status == .exited(1))
        #expect(newer.output.contains("use a newer penstock"))
        #expect(newer.errors == "penstock: 1 of the checks failed.\n")
        let other = try Tool.empty()
        #expect(try await other.sql("CREATE TABLE person (name TEXT)") == "")
        try await other.fail(["doctor"], with: 65, saying: "belongs to another program")
    }
}
