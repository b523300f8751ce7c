/// The failure of what cannot fail.
@inlinable package func impossible<Failure: Error>(_ never: Never) -> Failure {
    // Empty, as there is nothing that it could be called with.
}
