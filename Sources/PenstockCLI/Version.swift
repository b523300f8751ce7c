/// The version of everything that is built from this package.
package enum Version {
    package static let text = "0.1.0"
}
