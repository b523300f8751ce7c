import Dispatch
import Foundation
import PenstockProcesses
import PenstockTestKit
import Testing

#if os(Linux)
    /// A signal, or a stop of the process, is not taken for the doing of the other end.
    @Suite(.timeLimit(.minutes(1))) struct StreamSocketTests {
        /// Calls `body` with the two ends of a connection.
        private func withConnection(
            _ body: (_ here: StreamSocket, _ there: StreamSocket) async throws -> Void
        ) async throws {
            let listener = try StreamSocket.listening(at: .port(host: "127.0.0.1", 0))
            defer { listener.close() }
            let port = try #require(listener.port)
            let here = try StreamSocket.connected(to: .port(host: "127.0.0.1", port), timeout: .seconds(30))
            defer { here.close() }
            let there = try #require(listener.accepted(timeout: .seconds(30)))
            defer { there.close() }
            try await body(here, there)
        }

        /// Carries out `call` on a thread of its own, sends many signals to that, and then has `other` do what the call waits for.
        private func interrupted<Value: Sendable>(
            _ call: @escaping @Sendable () -> Value, until other: @escaping @Sendable () -> Void
        ) async throws -> Value {
            // The system does not make a call again that has a timeout, whatever a handler asks for.
            signal(SIGURG) { _ in }
            let (threads, begun) = AsyncStream.makeStream(of: pthread_t.self)
            // The thread is there for as long as signals are sent to it.
            let isOver = DispatchSemaphore(value: 0)
            async let value = SystemThread.run {
                begun.yield(pthread_self())
                let result = call()
                isOver.wait()
                return result
            }
            var iterator = threads.makeAsyncIterator()
            let first = await iterator.next()
            let thread = try #require(first)
            for _ in 1...5000 {
                pthread_kill(thread, SIGURG)
                sched_yield()
            }
            isOver.signal()
            try await SystemThread.run(other)
            return try await value
        }

        /// As many wait to be accepted as may, and so the next one waits for that.
        @Test func aSignalEndsNoConnecting() async throws {
            let room = TemporaryFolder()
            let place = StreamSocket.Place.path(room.file("socket"))
            let listener = try StreamSocket.listening(at: place)
            defer { listener.close() }
            var waiting: [StreamSocket] = []
            while let next = try? StreamSocket.connected(to: place, timeout: .milliseconds(1)) { waiting.append(next) }
            defer { for socket in waiting { socket.close() } }
            let last = try await interrupted {
                try? StreamSocket.connected(to: place, timeout: .seconds(30))
            } until: {
                listener.accepted(timeout: .seconds(30))?.close()
            }
            #expect(last != nil)
            last?.close()
        }

        @Test(arguments: [true, false]) func aSignalEndsNoReading(hasDeadline: Bool) async throws {
            try await withConnection { here, there in
                let deadline = ContinuousClock.now + .seconds(30)
                let bytes = try await interrupted {
                    hasDeadline ? here.read(9, by: deadline) : here.read(9)
                } until: {
                    _ = there.write([1, 2, 3])
                }
                #expect(bytes == [1, 2, 3])
            }
        }

        /// More than the system holds for the other end.
        @Test func aSignalEndsNoWriting() async throws {
            try await withConnection { here, there in
                let deadline = ContinuousClock.now + .seconds(30)
                let bytes = [UInt8](repeating: 7, count: 16 << 20)
                let isDone = try await interrupted {
                    here.write(bytes, by: deadline)
                } until: {
                    var left = bytes.count
                    while left > 0, case let more = there.read(min(left, 65_536)), !more.isEmpty { left -= more.count }
                }
                #expect(isDone)
            }
        }
    }
#endif
