/// What a store that is opened on a file may do to it.
public enum StoreAccess: Sendable {
    /// Everything.
    case readWrite
    /// Read, and nothing else: the file and its folder stay as they are, and every call that would write throws
    /// `readOnly`. For files that may only be read, and for programs that only look.
    case readOnly
}

/// What becomes of a file whose schema is older than the program's when it is opened for writing.
public enum MigrationPolicy: Sendable {
    /// It is brought to the program's schema.
    case automatic
    /// It is refused with `olderSchema`, and left as it is. A file without Penstock's tables gets them all the same.
    case refuse
}
