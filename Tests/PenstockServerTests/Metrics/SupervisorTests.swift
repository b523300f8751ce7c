import Foundation
import PenstockTestKit
import Testing

@testable import PenstockServer

@Suite(.timeLimit(.minutes(5))) struct SupervisorTests {
    /// A socket at `path`, as a supervisor has it.
    private func socket(at path: String) throws -> Int32 {
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
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
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

    @Test func nobodyThereIsNoMatter() {
        #expect(!Supervisor.tell("READY=1", at: "/nowhere/notify"))
        #expect(!Supervisor.tell("READY=1", at: ""))
        #expect(!Supervisor.tell("READY=1", at: String(repeating: "x", count: 200)))
    }
}
