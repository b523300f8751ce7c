#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The name of the clock that this process reads as its boot clock. Two processes may compare moments of it when they
/// give it the same name, and only then.
enum ClockName {
    /// This process's. A clock that has no name has one that no other process gives.
    static let own = readOwn() ?? "unknown-" + String(UInt64.random(in: .min ... .max), radix: 16)

    #if canImport(Darwin)
        /// The name of the boot session. It is drawn once, when the kernel starts. `kern.boottime` is no name: it is the
        /// wall clock less the time since the start, so it moves whenever the wall clock is set or slewed, and two
        /// processes of one boot read different values. The boot has several clocks, so the name says which.
        private static func readOwn() -> String? {
            var bytes = [CChar](repeating: 0, count: 64)
            var size = bytes.count
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0, size > 1 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) + " raw"
        }
    #else
        /// The boot's name and, in a time namespace of its own, the namespace's: there `CLOCK_BOOTTIME` is off by what the
        /// namespace's maker chose.
        private static func readOwn() -> String? {
            guard let boot = bootID() else { return nil }
            switch link("/proc/self/ns/time") {
            case firstNamespace: return boot
            case let namespace?: return "\(boot) \(namespace)"
            // A kernel without time namespaces has the others; where those are hidden as well, nothing is known.
            case nil: return link("/proc/self/ns/mnt") == nil ? nil : boot
            }
        }

        /// The namespace that the machine starts with: `PROC_TIME_INIT_INO` in Linux's `include/linux/proc_ns.h`.
        private static let firstNamespace = "time:[4026531834]"

        private static func bootID() -> String? {
            let descriptor = SystemCall.uninterrupted { open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC) }
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 36)
            let count = SystemCall.uninterrupted { read(descriptor, &bytes, bytes.count) }
            return count == 36 ? String(decoding: bytes, as: UTF8.self) : nil
        }

        private static func link(_ path: String) -> String? {
            var bytes = [CChar](repeating: 0, count: 64)
            let count = readlink(path, &bytes, bytes.count)
            guard count > 0, count < bytes.count else { return nil }
            return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    #endif
}
