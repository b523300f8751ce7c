package import ArgumentParser
import Dispatch
import Logging
import Penstock
import PenstockCLI
import PenstockCore
import PenstockDashboard
import PenstockFormats
import PenstockHTTP
import PenstockTracing
import Synchronization

/// `penstock serve`, which runs in a program of its own.
package struct ServerCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "penstock serve",
        abstract: "Serve the queues of a file or a database over HTTP.",
        discussion: """
            EXAMPLES
              penstock serve
              penstock serve --listen 127.0.0.1:7700 --listen unix:/run/penstock/http.sock
              penstock serve --listen 0.0.0.0:7700 --token-file tokens
              penstock serve --db postgres://mill@db.example/shop

            It prints a line with its URL when it takes requests. The URL is a dashboard's; the API is under /v1. At addresses of this machine no token \
            is asked for unless there is a --token-file; others need one. With one, every address asks for a token, sockets in the file \
            system as well; the file is read again at SIGHUP. TLS is for a proxy in front of it.
            """)

    @OptionGroup var options: ServeOptions

    package init() {}

    package func validate() throws {
        if options.tokenFile == nil, let address = addresses.first(where: { !$0.isLocal }) {
            throw ValidationError("\(address) can be reached from other machines; give --token-file as well.")
        }
        if let twice = addresses.first(where: { address in addresses.count { $0 == address } > 1 }) {
            throw ValidationError("\(twice) is given twice; give each --listen another address.")
        }
        if let wrong = options.host.first(where: { !HostCheck.isName($0) }) {
            throw ValidationError(
                "'\(wrong)' is no name of a host; write it as in an address, such as queue.example, without a port.")
        }
        if let name = options.name {
            do {
                try NameRules.validate(name, of: "server", bytesMax: Limits.workerNameBytesMax)
            } catch {
                throw ValidationError(error.message)
            }
        }
    }

    @MainActor
    package func run() async throws {
        options.logOptions.logFormat.use()
        let file = try options.location.store()
        // What the process makes is its owner's alone: the folder beside the file, a socket.
        umask(0o077)
        let tokens = try options.tokenFile.map { path throws(PenstockError) in try Tokens.read(path) }
        let logger = ErrorLog.logger(.notice)
        let tracing = CommandTracing(serviceName: "penstock-server")
        let hangUps = await HangUps.followed(rereading: options.tokenFile, into: tokens, logger)
        defer { hangUps.cancel() }
        if options.readOnly {
            try await file.look { try await serve($0, file, tokens, logger, tracing) }
        } else {
            var isOpen = false
            do {
                try await file.use(logger: logger) { store in
                    isOpen = true
                    try await serve(store, file, tokens, logger, tracing)
                }
            } catch let error as PenstockError where error.code == .readOnly && !isOpen {
                throw Self.refusal(ofReading: error)
            }
        }
        await tracing?.tracer.shutdown()
    }

    /// What is said of a file that can only be read.
    static func refusal(ofReading error: PenstockError) -> PenstockError {
        let sentence = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        return PenstockError(
            .readOnly, "\(sentence); with --read-only the server shows what is there, and changes nothing.",
            cause: error)
    }

    private func serve(
        _ store: PenstockStore, _ file: StoreFile, _ tokens: Tokens?, _ logger: Logger, _ tracing: CommandTracing?
    ) async throws {
        try await Server(
            store: store, listen: addresses, tokens: tokens, connectionCountMax: try connectionCountMax(logger),
            hosts: options.host, isReadOnly: options.readOnly, name: options.name, health: health(of: file),
            logger: logger,
            tracer: tracing?.tracer
        ).run { [count = addresses.count, taken = Mutex<[ListenAddress]>([])] address in
            // One of them may be taken by another program yet, and then nothing is served.
            let all = taken.withLock { taken in
                taken.append(address)
                return taken.count == count ? taken : []
            }
            if all.isEmpty { return }
            for address in all { Self.tell(address) }
            Supervisor.tellReady()
        }
    }

    /// How many connections each address takes at the same time. Each is an open file.
    private func connectionCountMax(_ logger: Logger) throws -> Int {
        let wanted = Server.connectionCountMax
        let count = try OpenFiles.makeRoom(forConnections: wanted * addresses.count) / addresses.count
        if count < wanted {
            logger.notice(
                "each address takes \(count) connections at a time, and not \(wanted), as this process may not open more files (ulimit -n)"
            )
        }
        return count
    }

    private func health(of file: StoreFile) -> HealthSource {
        if let path = file.filePath { return HealthSource(path: path) }
        return HealthSource(database: file.shown) { try await file.inspect() }
    }

    private var addresses: [ListenAddress] {
        options.listen.isEmpty ? [.port(host: "127.0.0.1", 7700)] : options.listen
    }

    /// Says where the server takes requests. A program that has started it waits for this line.
    private static func tell(_ address: ListenAddress) {
        let place =
            switch address {
            case .port: "http://\(address)/"
            case .unix: address.description
            }
        // The program that listens there may be gone, or read nothing for now, and the server works all the same.
        output.async { try? Descriptor.standardOutput.write(Array("Penstock serves at \(place)\n".utf8)) }
    }

    private static let output = DispatchQueue(label: "penstock.standard-output")
}
