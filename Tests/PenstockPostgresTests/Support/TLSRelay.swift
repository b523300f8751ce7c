import Foundation

/// Puts TLS between a connection and the tests' server, as a proxy does: with records as large as TLS has them, while the server's own
/// have 8 KiB.
final class TLSRelay {
    private let port: Int
    private let running: ClosingScript

    /// - Parameter holdsAnswers: whether an answer to a simple query is sent on once it is whole: 8 KiB of it in the first record, and as
    ///   much as one takes in the next.
    init(to server: PostgresServer, holdsAnswers: Bool) throws {
        let folder = "/tmp/penstock-tls-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let output = Pipe()
        running = try ClosingScript(
            ["/bin/bash", "-c", Self.script, folder, Self.program, server.socketPath, holdsAnswers ? "1" : "0"],
            output: output.fileHandleForWriting)
        output.fileHandleForWriting.closeFile()
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(said.trimmingCharacters(in: .newlines)) else {
            throw PostgresServer.Failure(description: "The relay did not start.")
        }
        self.port = port
    }

    func url(schema: String) -> String {
        "postgres://penstock@127.0.0.1:\(port)/postgres?sslmode=require&schema=\(schema)"
    }

    private static let script = """
        cd "$0"
        openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out certificate -days 2 -subj /CN=localhost 2> /dev/null
        python3 -c "$1" "$2" "$3" &
        exec > /dev/null
        read end || true
        kill -9 $!
        rm -rf "$0"
        """

    private static let program = """
        import socket, ssl, struct, sys, threading
        server, holds = sys.argv[1], sys.argv[2] == "1"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("certificate", "key")

        def is_whole(answer):
            place, kind = 0, b""
            while place + 5 <= len(answer):
                kind = answer[place:place + 1]
                place += 1 + struct.unpack(">I", answer[place + 1:place + 5])[0]
            return place == len(answer) and kind == b"Z"

        def send_on(plain, tls):
            answer = b""
            while part := plain.recv(65536):
                answer += part
                if not holds or is_whole(answer):
                    tls.sendall(answer[:8192])
                    if answer[8192:]: tls.sendall(answer[8192:])
                    answer = b""
            tls.sendall(answer)
            tls.close()

        def serve(client):
            client.recv(8)
            client.sendall(b"S")
            tls = context.wrap_socket(client, server_side=True)
            plain = socket.socket(socket.AF_UNIX)
            plain.connect(server)
            threading.Thread(target=send_on, args=(plain, tls), daemon=True).start()
            while part := tls.recv(65536): plain.sendall(part)
            plain.close()

        listener = socket.create_server(("127.0.0.1", 0))
        sys.stdout.write(f"{listener.getsockname()[1]}\\n")
        sys.stdout.flush()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
