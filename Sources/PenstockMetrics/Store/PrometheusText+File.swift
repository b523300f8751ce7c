#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension PrometheusText {
    /// Adds how large the store's file at `path` is, and its write-ahead log. What is not there has no bytes.
    package mutating func add(fileAt path: String) {
        begin("penstock_store_file_bytes", .gauge, "Bytes of the store's file.")
        sample(Self.byteCount(path))
        begin("penstock_store_wal_bytes", .gauge, "Bytes of the write-ahead log beside the store's file.")
        sample(Self.byteCount(path + "-wal"))
    }

    private static func byteCount(_ path: String) -> Int {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : 0
    }
}
