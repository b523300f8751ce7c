import PenstockCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the system says of this process. `nil`: nothing, as where `/proc` is hidden.
package struct ProcessFacts: Sendable {
    package var cpuSeconds: Double?
    package var openFileCount: Int?
    package var openFileCountMax: Int?
    package var threadCount: Int?
    package var virtualBytes: Int?
    package var residentBytes: Int?
    package var startedAtSeconds: Double?

    package static func now() -> ProcessFacts {
        var facts = ProcessFacts()
        var used = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 {
            facts.cpuSeconds = Double(used.tv_sec) + Double(used.tv_nsec) / 1_000_000_000
        }
        var bound = rlimit()
        if getrlimit(openFiles, &bound) == 0 { facts.openFileCountMax = Int(clamping: bound.rlim_cur) }
        #if os(Linux)
            facts.readProc()
        #endif
        return facts
    }

    #if canImport(Glibc)
        private static let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let openFiles = RLIMIT_NOFILE
    #endif

    #if os(Linux)
        private mutating func readProc() {
            if let stat = Self.text("/proc/self/stat") { take(stat: stat, system: Self.text("/proc/stat")) }
            if let folder = opendir("/proc/self/fd") {
                defer { closedir(folder) }
                var count = 0
                while readdir(folder) != nil { count += 1 }
                // The folder itself, the one above it, and the descriptor by which it is read.
                openFileCount = max(0, count - 3)
            }
        }

        /// A file of `/proc`, as far as it is of use here.
        private static func text(_ path: String) -> String? {
            let file = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
            guard file >= 0 else { return nil }
            defer { close(file) }
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 16 * 1024)
            while bytes.count < 1024 * 1024 {
                let count = SystemCall.uninterrupted { read(file, &part, part.count) }
                guard count > 0 else { break }
                bytes += part.prefix(count)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    #endif

    /// Takes what lines of `/proc/self/stat` and `/proc/stat` say (proc(5)).
    mutating func take(stat: String, system: String?) {
        // The name of the program is in parentheses, and may hold some itself.
        guard let end = stat.lastIndex(of: ")") else { return }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        // The first field behind the name is the third.
        func number(_ field: Int) -> Int? { fields.count > field - 3 ? Int(fields[field - 3]) : nil }
        threadCount = number(20)
        virtualBytes = number(23)
        residentBytes = number(24).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
        let boot = system?.split(separator: "\n").first { $0.hasPrefix("btime ") }
            .flatMap { Int($0.dropFirst("btime ".count)) }
        if let boot, let ticks = number(22) {
            startedAtSeconds = Double(boot) + Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
    }
}
