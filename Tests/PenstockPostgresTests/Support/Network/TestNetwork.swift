import Foundation

/// What lies between clients and servers, and can be cut: nothing comes through any more, and nobody is told.
protocol TestNetwork: Sendable {
    /// Where clients and other servers find a node.
    func place(of node: FaultyServers.Node) -> (host: String, port: Int)
    /// The words before a command that runs where the node is.
    func prefix(of node: FaultyServers.Node) -> [String]
    /// What the node's server listens on; empty: on its socket alone.
    func listenAddress(of node: FaultyServers.Node) -> String
    /// Cuts the node off from everybody.
    func unplug(_ node: FaultyServers.Node) async throws
    func plug(_ node: FaultyServers.Node) async throws
}

extension TestNetwork {
    /// The address of several: a store that writes goes to the one that can be written.
    ///
    /// - Parameter attributes: what the address says itself of the servers that will do.
    func address(of nodes: [FaultyServers.Node], attributes: String? = nil) -> String {
        let places = nodes.map(place)
        return "postgres://penstock@/postgres?host=\(places.map(\.host).joined(separator: ","))"
            + "&port=\(places.map { String($0.port) }.joined(separator: ","))"
            + (attributes.map { "&target_session_attrs=\($0)" } ?? "")
    }
}

/// What this machine allows: namespaces of the kernel's, where packets are lost as on a cable that was pulled; otherwise relays that stand
/// still. `PENSTOCK_TEST_NETWORK=relays` asks for these.
func makeTestNetwork() throws -> any TestNetwork {
    if ProcessInfo.processInfo.environment["PENSTOCK_TEST_NETWORK"] != "relays", NamespaceNetwork.canBeMade {
        return try NamespaceNetwork()
    }
    print("    This machine allows no network namespaces: links are relays that stand still.")
    return RelayNetwork()
}
