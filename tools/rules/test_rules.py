"""A rule that nothing breaks proves nothing: small trees that break one rule each must be found, and others must not."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import comments  # noqa: E402: not before nothing is written
import conflicts  # noqa: E402
import folders  # noqa: E402
import interruptions  # noqa: E402
import mentions  # noqa: E402
import source  # noqa: E402


class RulesTests(unittest.TestCase):
    def tree(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for root in ("Sources", "Tests"):
            os.mkdir(os.path.join(folder.name, root))
        for path, text in files.items():
            path = os.path.join(folder.name, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return folder.name

    def circles(self, files):
        return list(folders.broken(self.tree({"Sources/M/" + path: text for path, text in files.items()})))

    def test_two_folders_that_use_each_other(self):
        found = self.circles({"A/One.swift": "struct One { let two: Two }", "B/Two.swift": "enum Two { case of(One) }"})
        self.assertIn("M/A -> M/B: Two", found[0])

    def test_a_loose_file_and_a_folder(self):
        self.assertTrue(self.circles({"All.swift": "let all = [One.self]\nstruct All {}", "A/One.swift": "struct One: All {}"}))

    def test_names_that_are_no_use_of_another_folder(self):
        two = "enum Two { case of(One) }"
        for one in (
            "struct One {} // Two", 'struct One { let text = "Two" }', "struct One {\n    struct Two {}\n    let two: Two\n}",
            "struct One { func f<Two>(_: Two) {} }", "struct One { let two: Other.Two }", "struct One { /* Two */ }",
        ):
            self.assertEqual(self.circles({"A/One.swift": one, "B/Two.swift": two}), [], one)

    def test_an_interpolation_is_code(self):
        self.assertTrue(self.circles({"A/One.swift": 'struct One { let text = "\\(Two("x"))" }', "B/Two.swift": "enum Two { case of(One) }"}))

    def said(self, comment):
        return list(comments.broken(self.tree({"Sources/M/A.swift": comment + "\nlet a = 1\n"})))

    def test_comments_that_say_who_of_nobody(self):
        for comment in (
            "/// Who has the turn writes.", "// It is over: who waits is told.", "/// Wakes who\n/// waits.",
            "let b = 1  // For who reads.", "/// One is told, and who\n/// waits longest is first.",
        ):
            self.assertEqual(len(self.said(comment)), 1, comment)

    def test_comments_that_name_somebody_or_ask(self):
        for comment in (
            "/// Somebody who waits is told.", "/// The kernel says who lives.", "// Who is there? Nobody knows.",
            "/// A reader, who is told.", '/// Whoever waits is told.', 'let b = "// Who waits"',
        ):
            self.assertEqual(self.said(comment), [], comment)

    def test_what_nothing_mentions(self):
        repository = self.tree({
            "Sources/M/A.swift": "func used() {}\nfunc unused() { used() }\n",
            "Sources/M/Line+Ends.swift": 'struct Line { private let left = "Gone" }\n',
            "Tests/T/B.swift": "struct Other { let left: Line }\n",
            "docs/a.md": "[b](b.md) [a](a.md) `A.swift` `B.sql` `Sources/M/A.swift` `Sources/N` `Line+Ends` `Gone` `M` `Line.left` `Lost(of:)`\n",
        })
        found = "\n".join(mentions.broken(repository))
        for text in ("'unused'", "nothing uses 'left'", "'b.md'", "'B.sql'", "'Sources/N'", "no 'Lost'"):
            self.assertIn(text, found)
        self.assertEqual(len(found.splitlines()), 6, found)

    def conflicts(self, statement):
        trigger = f"CREATE TRIGGER t BEFORE INSERT ON a BEGIN\n    {statement};\nEND;\n"
        return list(conflicts.broken(self.tree({"Migrations/Baseline/baseline.sql": trigger})))

    def test_what_an_outer_statement_replaces_in_a_trigger(self):
        for statement in ("INSERT OR IGNORE INTO b VALUES (1)", "UPDATE OR\n REPLACE b SET c = 1", "REPLACE INTO b VALUES (1)"):
            self.assertEqual(len(self.conflicts(statement)), 1, statement)
        for statement in ("INSERT INTO b VALUES (1) ON CONFLICT DO NOTHING", "SELECT replace(a, b, c) -- INSERT OR IGNORE"):
            self.assertEqual(self.conflicts(statement), [], statement)

    def test_calls_that_a_signal_may_interrupt(self):
        def found(line):
            return list(interruptions.broken(self.tree({"Sources/M/A.swift": f"func f() {{\n    {line}\n}}\n"})))

        for line in (
            'let a = open("b", O_RDWR)', "let a = Foundation.open(file(b), O_RDONLY)", "guard pread(a, &b, 1, 0) == 1 else { return }",
            "if mkdir(path, 0o700) == 0 { SystemCall.uninterrupted { f() } }", "if true { return fsync(a) }", "guard waitid(P_PID, 1, &a, 0) == 0 else { return }",
        ):
            self.assertIn("Sources/M/A.swift:2", "".join(found(line)), line)
        for line in (
            "SystemCall.uninterrupted { Foundation.open(file(b), O_RDWR) }", "if SystemCall.uninterrupted({ mkdir(path, 0o700) }) == 0 {}",
            "SystemCall.uninterrupted {\n        if a { f() }\n        return fsync(a)\n    }", "try await store.open()",
            "try FileDescriptor.open(a, O_RDWR)", "// open(a, O_RDWR)",
        ):
            self.assertEqual(found(line), [], line)

    def test_lines_stay_where_they_are(self):
        text = 'let a = """\n  one \\(b)\n  """ // c\n/* d\n e */ let f = #"g"#\n'
        self.assertEqual(source.code(text).count("\n"), 5)
        self.assertNotIn("g", source.code(text))


unittest.main(argv=[sys.argv[0], "--quiet"])
