import Foundation
import Synchronization

/// Network namespaces, one for each host, and one with the bridge that they are plugged into. Only root may make them.
final class NamespaceNetwork: TestNetwork {
    static let canBeMade: Bool = {
        guard getuid() == 0 else { return false }
        guard let trial = try? NamespaceNetwork() else { return false }
        _ = trial
        return true
    }()

    private let name: String
    /// The first three numbers of all addresses here: of a range that is for tests of networks, and nobody's (RFC 2544).
    private let net: String
    private let hosts = Mutex<[String: Int]>([:])
    private let cleaning: ClosingScript

    init() throws {
        let number = Int.random(in: 0..<512)
        name = "penstock-\(getpid())-\(number)"
        net = "198.\(18 + number / 256).\(number % 256)"
        cleaning = try ClosingScript(["/bin/sh", "-c", Self.cleaning, name])
        try Self.ip("netns add \(name)")
        try Self.ip("-n \(name) link add bridge type bridge")
        try Self.ip("-n \(name) link set bridge up")
        // This process is the client that is never cut off.
        let link = "pst\(number)"
        try Self.ip("-n \(name) link add own type veth peer name \(link) netns \(getpid())")
        try Self.ip("-n \(name) link set own master bridge up")
        try Self.ip("address add \(net).1/24 dev \(link)")
        try Self.ip("link set \(link) up")
    }

    /// Nothing outlives the run, by whatever means that ends. The links go with the bridge's namespace.
    private static let cleaning = """
        read end || true
        for namespace in $(ip netns list | awk -v name="$0" '$1 == name || index($1, name "-") == 1 { print $1 }'); do
            kill -9 $(ip netns pids "$namespace") 2> /dev/null
            ip netns delete "$namespace"
        done
        """

    /// Makes a host of that name, unless it is there.
    func makeHost(_ host: String) throws {
        let number: Int? = hosts.withLock { hosts in
            if hosts[host] != nil { return nil }
            hosts[host] = hosts.count + 2
            return hosts[host]
        }
        guard let number else { return }
        let namespace = "\(name)-\(host)"
        try Self.ip("netns add \(namespace)")
        try Self.ip("-n \(name) link add port-\(host) type veth peer name cable netns \(namespace)")
        try Self.ip("-n \(name) link set port-\(host) master bridge up")
        try Self.ip("-n \(namespace) address add \(net).\(number)/24 dev cable")
        try Self.ip("-n \(namespace) link set cable up")
        try Self.ip("-n \(namespace) link set lo up")
    }

    func prefix(of host: String) -> [String] { ["/usr/bin/env", "ip", "netns", "exec", "\(name)-\(host)"] }

    /// As when the cable is pulled at the switch's side: the host has its link, and nobody hears it.
    func unplug(_ host: String) throws { try Self.ip("-n \(name) link set port-\(host) nomaster") }
    func plug(_ host: String) throws { try Self.ip("-n \(name) link set port-\(host) master bridge") }

    func prefix(of node: FaultyServers.Node) -> [String] { prefix(of: node.name) }
    func listenAddress(of node: FaultyServers.Node) -> String { place(of: node).host }
    func unplug(_ node: FaultyServers.Node) throws { try unplug(node.name) }
    func plug(_ node: FaultyServers.Node) throws { try plug(node.name) }

    func place(of node: FaultyServers.Node) -> (host: String, port: Int) {
        ("\(net).\(hosts.withLock { $0[node.name] } ?? 0)", 5432)
    }

    private static func ip(_ arguments: String) throws {
        try SystemCommand.run(["ip"] + arguments.split(separator: " ").map(String.init))
    }
}
