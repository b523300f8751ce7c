import CPenstockSystem

/// How a file has come to its place.
package enum FileMount {
    /// Whether the file at `path` was mounted there by itself, as a container's runtime does for a single file: what lies beside it at its
    /// other name does not lie here. False where the system does not say.
    package static func isMounted(_ path: String) -> Bool { penstock_is_mounted(path) != 0 }
}
