import CPenstockSystem

/// The name of a file.
package enum FileName {
    /// Changes a file's name; 0, or -1 and why in `errno`.
    package typealias Change = @Sendable (_ from: String, _ to: String) -> Int32

    /// To one that nothing has, in one step. Not every file system knows that.
    package static let toNew: Change = { penstock_rename_new($0, $1) }
}
