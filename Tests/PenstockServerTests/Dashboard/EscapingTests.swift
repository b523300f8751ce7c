import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// What anybody may have written into the store is shown, and does nothing.
@Suite struct EscapingTests {
    /// What is deep would become many times as long with each member on a line of its own.
    @Test func deepJSONIsShownAsItIs() {
        let deep = String(repeating: "[", count: 40) + "1" + String(repeating: ",1", count: 20_000)
        let text = deep + String(repeating: "]", count: 40)
        #expect(PayloadText.indented(Array(text.utf8)) == nil)
        #expect(PayloadText.text(Array(text.utf8), .json) == text)
    }

    /// A name that looks like another one is not taken for it.
    @Test func whatNobodySeesIsShown() {
        #expect(PageText().escapeText("a\u{3164} ❤\u{FE0F}") == "a\\u{3164} ❤\u{FE0F}")
        #expect(PageText().escapeText("1\u{FE0F}\u{20E3} 1\u{FE0F}") == "1\u{FE0F}\u{20E3} 1\\u{FE0F}")
    }

    /// Markup, ends of attributes also with an accent on the quote, a terminal's escape, a change of direction.
    static let hostile = "<img src=x onerror=alert(1)>\"\u{301} autofocus onfocus='alert(2)' \u{1B}[31m\u{202E}txt.exe"

    private static func expectHarmless(_ page: TestResponse, _ comment: Comment) {
        #expect(page.status == 200, comment)
        #expect(!page.text.contains("<img"), comment)
        // By code points, as a browser reads: as characters, a quote with an accent would be none that is looked for.
        let scalars = Array(page.text.unicodeScalars)
        let hasOpenQuote = zip(scalars, scalars.dropFirst()).contains { $0 == "\"" && $1.value == 0x301 }
        #expect(!hasOpenQuote, comment)
        for scalar in page.text.unicodeScalars {
            #expect(scalar != "\u{1B}" && scalar != "\u{202E}" && scalar != "\0", comment)
        }
    }

    @Test func nothingForeignIsMarkup() async throws {
        let store = PenstockStore(TestDatabase().open())
        let name = "<img src=x onerror=alert(1)>\"\u{301} 'q'"
        let queue = try await store.queue(name, policy: QueuePolicy(groups: .fifo()))
        let message = NewMessage(
            payload: Array(Self.hostile.utf8), headers: ["x-note": Self.hostile],
            uniqueKey: UniqueKey(Self.hostile), group: Self.hostile)
        try await queue.enqueue([
            message, NewMessage(payload: [0xFF, 0x00, 0x3C]), NewMessage(payload: [], group: Self.hostile),
        ])
        let claim = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(60)))
        let lease = try #require(claim.messages.first).lease
        _ = try await store.storage.settle([Settlement(lease, .dead(error: Self.hostile))])
        try await store.storage.schedule(
            ScheduleName(name), .put(Schedule(queue: queue.name, spec: "@daily", message: message), replacing: false))
        try await TestServer.run(store: store, name: "<b>prod</b>") { server in
            let link = Link.queue(queue.name)
            let paths = [
                "/", "/?name=%3Cimg%20src%3Dx%3E", link, "\(link)/policy", "\(link)/log", "\(link)/replay",
                "/messages/1",
                "/messages/1?show=text", "/messages/2?show=text", "/messages/2?show=json", "/workers", "/messages",
                "/dead",
                "/messages?text=%3Cimg%20src%3Dx%3E", "/messages?key=%22%CC%81%3Cimg", "/schedules",
                Link.schedule(try ScheduleName(name)),
            ]
            for path in paths {
                let page = try await server.page(path, headers: ["Cookie": "penstock_said=%3Cimg%20src%3Dx%3E"])
                Self.expectHarmless(page, "\(path)")
                #expect(page.text.contains("&lt;b&gt;prod&lt;/b&gt;"))
            }
            let shown = try await server.page("/messages/1?show=text")
            #expect(shown.text.contains("&lt;img src=x onerror=alert(1)&gt;&quot;\u{301}"))
            #expect(shown.text.contains("\\x1B[31m\\u{202E}txt.exe"))
        }
    }

    @Test func anErrorPageIsHarmlessToo() async throws {
        try await TestServer.run { server in
            let page = try await server.page("/?%3Cimg%20src=x")
            #expect(page.status == 400)
            #expect(!page.text.contains("<img"))
        }
    }

    @Test(arguments: [
        ("<\u{338}b>", "&lt;\u{338}b&gt;"), ("a'b\"c", "a&#39;b&quot;c"), ("a\tb\nc", "a\tb\nc"),
        ("a\rb\0c", "a\\rb\\x00c"),
        ("C:\\dir", "C:\\dir"), ("\u{2066}x\u{2028}", "\\u{2066}x\\u{2028}"), ("naïve 👩‍👩‍👧", "naïve 👩‍👩‍👧"),
    ])
    func textIsEscapedByCodePoints(text: String, page: String) {
        #expect(PageText().escapeText(text).unicodeScalars.elementsEqual(page.unicodeScalars))
    }

    /// Browsers take a part of one or two dots for a way up, escaped or not.
    @Test(arguments: [".", "..", "...", "..x"]) func whatIsCalledByDotsIsFoundInABrowser(name: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue(name)
        let nightly = Schedule(queue: queue.name, spec: "@daily", message: NewMessage(payload: []))
        try await store.storage.schedule(ScheduleName(name), .put(nightly, replacing: false))
        let task = try NewTask(TaskName("t"), queue: queue.name, message: NewMessage(payload: []))
        _ = try await store.storage.start(NewWorkflow(WorkflowName(name), tasks: [task]), durability: .powerLoss)
        try await TestServer.run(store: store) { server in
            for (page, link) in [
                ("/", Link.queue(queue.name)), ("/schedules", Link.schedule(try ScheduleName(name))),
                ("/workflows", Link.workflow(try WorkflowName(name))),
            ] {
                #expect(try await server.page(page).text.contains("href=\"\(link)\""))
                let last = try #require(link.split(separator: "/").last?.removingPercentEncoding)
                #expect(last != "." && last != "..")
                let there = try await server.page(link)
                #expect(there.status == 200 && there.text.contains("\(name)</h1>"), "\(there.text)")
            }
            for path in ["queues", "schedules", "workflows"] {
                let part = name.allSatisfy { $0 == "." } ? "%20\(name)" : name
                #expect(try await server.send("GET", "/v1/\(path)/\(part)").status == 200, "\(path)")
            }
        }
    }

    @Test func jsonIsIndentedAndKeepsItsNumbers() {
        let bytes = Array("{\"a\":[1.10,{}],\"b\":\"{,\\\"\"}".utf8)
        let expected = "{\n  \"a\": [\n    1.10,\n    {}\n  ],\n  \"b\": \"{,\\\"\"\n}"
        #expect(PayloadText.indented(bytes) == expected)
        #expect(PayloadText.indented(Array("{\"a\":".utf8)) == nil)
        #expect(PayloadText.indented(Array("17".utf8)) == nil)
        #expect(PayloadText.form(of: [0xFF]) == .hex)
        #expect(PayloadText.form(of: Array("hello".utf8)) == .text)
        // Of long ones a part is looked at, which may end within a character.
        for text in ["a", "я", "漢", "😀", "a漢", "aa漢", "aaa😀"] {
            let long = Array(String(repeating: text, count: PayloadText.textBytesMax).utf8)
            #expect(PayloadText.form(of: long) == .text, "\(text)")
            #expect(PayloadText.form(of: [0xFF] + long) == .hex)
        }
        #expect(PayloadText.text(Array("hello, world 1234".utf8), .hex).hasPrefix("000000  68 65 6c 6c 6f 2c"))
    }
}
