import Foundation
import PenstockProcesses
import PenstockTestKit
import Subprocess
import Synchronization
import SystemPackage
import Testing

@testable import PenstockServer

@Suite(.timeLimit(.minutes(5))) struct SupervisorTests {
    /// A socket at `path`, as a supervisor has it, or another one that is given to `attach` with its address.
    private func socket(
        at path: String,
        _ attach: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32 = { bind($0, $1, $2) }
    ) throws -> Int32 {
        #if canImport(Glibc)
            let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        #else
            let descriptor = Darwin.socket(AF_UNIX, SOCK_DGRAM, 0)
        #endif
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { attach(descriptor, $0, length) }
        }
        try #require(result == 0)
        return descriptor
    }

    private func received(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    @Test func itIsToldByADatagram() throws {
        let room = TemporaryFolder()
        var paths = ["\(room.path)/notify"]
        #if os(Linux)
            paths.append("@penstock-test-\(UUID().uuidString)")
        #endif
        for path in paths {
            let descriptor = try socket(at: path)
            defer { close(descriptor) }
            Supervisor.tell("READY=1", at: path)
            #expect(received(descriptor) == "READY=1")
        }
    }

    /// It has the words of many others to read.
    @Test func oneThatReadsNothingForNowHoldsUpNoServer() async throws {
        let room = TemporaryFolder()
        let path = room.file("notify")
        let supervisor = try socket(at: path)
        defer { close(supervisor) }
        let other = try socket(at: path) { connect($0, $1, $2) }
        defer { close(other) }
        #expect(fcntl(other, F_SETFL, O_NONBLOCK) == 0)
        while write(other, [0], 1) == 1 {}
        #expect(errno == EAGAIN)
        let goesOn = Mutex(false)
        try SystemThread.start("test") {
            Supervisor.tellReady(at: path)
            goesOn.withLock { $0 = true }
        }
        try await eventually { goesOn.withLock { $0 } }
        var said = received(supervisor)
        while said == "\0" { said = received(supervisor) }
        #expect(said == "READY=1")
    }

    /// A collector of logs has stalled: what it was sent before fills the pipe.
    @Test func whatNobodyReadsHoldsUpNoServer() async throws {
        let room = TemporaryFolder()
        let supervisor = try socket(at: room.file("notify"))
        defer { close(supervisor) }
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(supervisor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let (unread, output) = try FileDescriptor.pipe()
        defer { try? unread.close() }
        #expect(fcntl(output.rawValue, F_SETFL, O_NONBLOCK) == 0)
        while write(output.rawValue, [0], 1) == 1 {}
        #expect(errno == EAGAIN && fcntl(output.rawValue, F_SETFL, 0) == 0)
        let program = Executable.path(FilePath(BuiltPrograms.path("penstock")))
        let environment = Environment.inherit.updating([
            "PENSTOCK_DB": room.file("penstock.db"), "NOTIFY_SOCKET": room.file("notify"),
        ])
        let made = try await Subprocess.run(
            program, arguments: ["queue", "create", "q"], environment: environment, output: .discarded)
        #expect(made.terminationStatus.isSuccess)
        let ended = try await Subprocess.run(
            program, arguments: ["serve", "--listen", "unix:\(room.file("socket"))"], environment: environment,
            input: .none,
            output: .fileDescriptor(output, closeAfterSpawningProcess: true),
            error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
        ) { execution in
            let said = try await SystemThread.run { received(supervisor) }
            #expect(said == "READY=1")
            try execution.send(signal: said.isEmpty ? .kill : .terminate)
        }
        #expect(ended.terminationStatus == .exited(0))
    }

    @Test func nobodyThereIsNoMatter() {
        #expect(!Supervisor.tell("READY=1", at: "/nowhere/notify"))
        #expect(!Supervisor.tell("READY=1", at: ""))
        #expect(!Supervisor.tell("READY=1", at: String(repeating: "x", count: 200)))
    }
}
