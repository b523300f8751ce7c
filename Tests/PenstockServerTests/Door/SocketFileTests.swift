import Foundation
import Logging
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP
import PenstockProcesses
import PenstockTestKit
import ServiceLifecycle
import Subprocess
import Testing

@testable import PenstockServer

/// Servers at sockets in the file system, and at places where none can be.
@Suite(.timeLimit(.minutes(5))) struct SocketFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("s") }

    /// What a server says that is to listen there; `nil`: it has listened.
    private func refusal(at address: ListenAddress) async -> PenstockError? {
        let server = Server(
            store: PenstockStore(TestDatabase().open()), listen: [address], tokens: nil, hosts: [], isReadOnly: true,
            name: nil, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        do {
            try await server.run(gracefulShutdownSignals: []) { _ in Issue.record("It listens at \(address).") }
            return nil
        } catch {
            return error as? PenstockError
        }
    }

    private func answer(at path: String, headers: [String: String] = [:]) async throws -> String {
        let client = try RawClient(at: .path(path))
        try client.request("GET", "/v1/queues", headers: headers.merging(["Connection": "close"]) { own, _ in own })
        return String(try await client.receive().prefix { $0 != "\r\n" })
    }

    @Test func aSocketAsksForATokenWhereTheServerKnowsSome() async throws {
        let (path, token) = (path, "0123456789abcdef")
        try await TestServer.run(at: .unix(path: path), tokens: try Tokens("a \(token) read")) { _ in
            let unknown = try await answer(at: path)
            #expect(unknown == "HTTP/1.1 401 Unauthorized")
            let known = try await answer(at: path, headers: ["Authorization": "Bearer \(token)"])
            #expect(known == "HTTP/1.1 200 OK")
        }
        try await TestServer.run(at: .unix(path: path)) { _ in
            let answered = try await answer(at: path)
            #expect(answered == "HTTP/1.1 200 OK")
        }
    }

    /// What a listener says that is ended for another one's failure is no news.
    @Test func whereOneAddressIsTakenTheErrorIsAllThatIsSaid() async throws {
        let kept = TestLog(from: .warning)
        let (taken, free) = (path, folder.file("other"))
        try await TestServer.run(at: .unix(path: taken)) { _ in
            let server = Server(
                store: PenstockStore(TestDatabase().open()), listen: [.unix(path: free), .unix(path: taken)],
                tokens: nil,
                hosts: [], isReadOnly: true, name: nil, logger: kept.logger)
            await #expect(throws: PenstockError.self) { try await server.run(gracefulShutdownSignals: []) { _ in } }
        }
        #expect(kept.lines == [])

        struct Broken: Error {}
        struct Failing: Service {
            func run() async throws { throw Broken() }
        }
        let log = ListenerLog()
        let logger = log.logger(kept.logger)
        logger.error("before")
        await #expect(throws: Broken.self) { try await ListenerLog.Part(listener: Failing(), log: log).run() }
        logger.error("after")
        #expect(kept.lines == ["before"])
    }

    @Test func aLiveServerKeepsItsSocket() async throws {
        let path = path
        try await TestServer.run(at: .unix(path: path)) { _ in
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            let refused = await refusal(at: .unix(path: path))
            #expect(refused?.code == .storage)
            #expect(refused?.message.contains("Another program listens at \(path); stop it") == true)
            let answered = try await answer(at: path)
            #expect(answered == "HTTP/1.1 200 OK")
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// Nobody can reach it any more, and nothing at the path tells of it.
    @Test func aServerWithoutItsSocketIsNamedByItsLock() async throws {
        let path = path
        try await TestServer.run(at: .unix(path: path)) { _ in
            try FileManager.default.removeItem(atPath: path)
            let refused = await refusal(at: .unix(path: path))
            #expect(refused?.code == .storage)
            #expect(refused?.message.contains("its socket was removed") == true)
            #expect(refused?.message.contains("stop that program, which has \(path)~lock open") == true)
        }
    }

    /// A supervisor starts it again.
    @Test func aServerThatNobodyReachesEnds() async throws {
        let (path, time, ready) = (path, ManualTime(), Tally())
        let server = Server(
            store: PenstockStore(TestDatabase(time: time).open(), options: .init(time: time)),
            listen: [.unix(path: path)], tokens: nil, hosts: [], isReadOnly: true, name: nil,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run(gracefulShutdownSignals: []) { _ in ready.add() } }
        try await ready.wait(for: 1)
        try FileManager.default.removeItem(atPath: path)
        let passing = Task {
            while true {
                try await time.waitForSleepers()
                time.advance(by: .seconds(5))
                await giveWay()
            }
        }
        defer { passing.cancel() }
        let error = await #expect(throws: PenstockError.self) { try await running.value }
        #expect(error?.code == .storage)
        #expect(error?.message.hasPrefix("The socket \(path) was removed, and nobody reaches this server") == true)
    }

    /// Clients of the other address are served.
    @Test func aServerWithAnotherAddressSaysThatItsSocketIsGone() async throws {
        let (log, time) = (TestLog(), ManualTime())
        let addresses: [ListenAddress] = [.unix(path: path), .port(host: "127.0.0.1", 7700)]
        try StreamSocket.listening(at: .path(path)).close()
        let watch = SocketWatch(addresses, time: time, logger: log.logger)
        for address in addresses { watch.isReady(address) }
        let run = Task { try await watch.run() }
        func look() async throws {
            try await time.waitForSleepers()
            time.advance(by: .seconds(5))
            try await time.waitForSleepers()
        }
        try await look()
        #expect(log.lines == [])
        try FileManager.default.removeItem(atPath: path)
        for _ in 1...2 { try await look() }
        #expect(log.lines.count == 1 && log.lines.first?.contains("The socket \(path) was removed") == true)
        run.cancel()
        _ = await run.result
    }

    /// Of two that start at the same moment both may have seen that nobody listens there.
    @Test func aSocketTakesThePlaceOfNoOther() throws {
        let first = try StreamSocket.listening(at: .path(path))
        defer { first.close() }
        let second = try StreamSocket.listening(at: .path(SocketFile.draft(of: path)))
        defer { second.close() }
        let error = #expect(throws: PenstockError.self) { try SocketFile(publishing: path) }
        #expect(error?.code == .storage && error?.message.contains("Another program listens at \(path)") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["s"])
        #expect(throws: PenstockError.self) { try SocketFile.makeRoom(at: path) }
    }

    @Test func aDeadServersSocketIsTakenOver() async throws {
        let path = path
        // Closed, and left there: as by a server that was killed.
        try StreamSocket.listening(at: .path(path)).close()
        try await TestServer.run(at: .unix(path: path)) { _ in
            let answered = try await answer(at: path)
            #expect(answered == "HTTP/1.1 200 OK")
        }
    }

    /// Another server is about to take the same place over: nothing of it is removed.
    @Test func ofTwoAtADeadSocketOneServes() async throws {
        let (path, draft) = (path, SocketFile.draft(of: path))
        for file in [path, draft] { try StreamSocket.listening(at: .path(file)).close() }
        let other = try SocketLock(of: path)
        let refused = await refusal(at: .unix(path: path))
        #expect(refused?.code == .storage)
        #expect(refused?.message.contains("Another program listens at \(path); stop it") == true)
        #expect(FileManager.default.fileExists(atPath: path) && FileManager.default.fileExists(atPath: draft))
        other.release()
        // What a killed server leaves of its lock is in nobody's way.
        try Data().write(to: URL(fileURLWithPath: SocketLock.file(of: path)))
        try await TestServer.run(at: .unix(path: path)) { _ in
            let answered = try await answer(at: path)
            #expect(answered == "HTTP/1.1 200 OK")
            #expect(throws: PenstockError.self) { try SocketLock(of: path) }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func anotherServersSocketOutlivesAStop() async throws {
        let path = path
        try await TestServer.run(at: .unix(path: path)) { _ in
            // Somebody has removed it by hand, and another program listens there.
            try FileManager.default.removeItem(atPath: path)
            try StreamSocket.listening(at: .path(path + "2")).close()
            try FileManager.default.moveItem(atPath: path + "2", toPath: path)
        }
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func whereNothingCanListenItIsSaidWhatToDo() async throws {
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        let file = await refusal(at: .unix(path: path))
        #expect(file?.code == .fileExists)
        #expect(file?.message == "Nothing can listen at \(path): it is no socket; give a path where there is no file.")
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
        let missing = await refusal(at: .unix(path: "\(folder.path)/none/s"))
        #expect(missing?.code == .notFound)
        #expect(missing?.message.hasSuffix("; make its folder first.") == true)
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        try await TestServer.run { server in
            let address = ListenAddress.port(host: "127.0.0.1", try #require(server.url.port))
            let taken = await refusal(at: address)
            #expect(taken?.code == .storage)
            #expect(
                taken?.message
                    == "This server cannot listen at \(address), as another program does; stop it, or give another address "
                    + "with --listen.")
        }
        let foreign = await refusal(at: .port(host: "192.0.2.1", 0))
        #expect(foreign?.code == .invalidInput)
        #expect(foreign?.message.contains("192.0.2.1 is no address of this machine") == true)
    }

    /// A supervisor that waits for the line goes on then.
    @Test func nothingIsServedBeforeAllAddressesAreTaken() async throws {
        let folder = TemporaryFolder()
        try await ServerProcess.run(in: folder) { server in
            let taken = "127.0.0.1:\(server.port)"
            let refused = try await ServerProcess.refused(
                in: folder, options: ["--listen", "127.0.0.1:0", "--listen", taken])
            #expect(refused.status == .exited(74) && refused.output == "")
            #expect(refused.errors.contains("penstock: "))
            let twice = try await ServerProcess.refused(in: folder, options: ["--listen", taken, "--listen", taken])
            #expect(twice.status == .exited(64) && twice.errors.contains("\(taken) is given twice"))
        }
    }

    @Test(arguments: ["", " staging", "two\nlines", String(repeating: "x", count: 201)])
    func aNameOfTheServerIsChecked(name: String) async throws {
        let refused = try await ServerProcess.refused(
            in: TemporaryFolder(), options: ["--listen", "127.0.0.1:0", "--name", name])
        #expect(refused.status == .exited(64))
        #expect(refused.errors.contains("A server's name "))
    }
}
