internal import Foundation

/// This process's memory, as the kernel counts it.
enum Memory {
    /// Bytes in memory now.
    static var resident: Double { field("VmRSS") }
    /// The most there ever were.
    static var peak: Double { field("VmHWM") }

    private static func field(_ name: String) -> Double {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first).flatMap { Double($0) }.map { $0 * 1024 }
            ?? 0
    }
}
