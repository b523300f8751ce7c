package import PenstockCore

/// Numbers as Prometheus reads them: its text exposition format, version 0.0.4.
package struct PrometheusText {
    package private(set) var text = ""

    package init() {}

    /// Appends the family of a gauge with one series for each queue.
    package mutating func gauge(_ name: String, _ help: String, of queues: [QueueStatus], _ value: (QueueStatus) -> Int)
    {
        text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
        for queue in queues { text += "\(name){queue=\"\(Self.label(queue.name.text))\"} \(value(queue))\n" }
    }

    /// `text` as the value of a label.
    static func label(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
