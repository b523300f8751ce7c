#if os(Linux)
    import Subprocess
    import Testing

    /// Where nothing is mounted at /proc, as in a jail or in the first moments of a machine.
    @Suite(.timeLimit(.minutes(5)))
    struct WithoutProcTests {
        /// Runs what follows it there.
        private static let before =
            #"exec unshare --mount --propagation private sh -c 'umount --lazy /proc && ! test -e /proc/self && exec "$@"' sh "#

        @Test(arguments: [["enqueue", "q", "x"], ["status"], ["nonsense"], ["serve"]])
        func aCommandSaysWhatIsMissingAndDoesNothing(arguments: [String]) async throws {
            let tool = try await Tool.withQueue()
            guard try await tool.run(script: Self.before + "true").status == .exited(0) else {
                try Test.cancel("Nobody may unmount /proc here; a namespace for that needs root.")
            }
            let outcome = try await tool.run(script: Self.before + #""$0" "$@""#, arguments)
            #expect(outcome.status == .exited(75), "\(outcome.output)")
            #expect(outcome.output == "")
            #expect(
                outcome.errors
                    == "penstock: Nothing at /proc tells of this process, and it cannot work without; mount it: mount -t proc proc /proc.\n"
            )
            #expect(try await tool.payloads("ready") == [])
        }
    }
#endif
