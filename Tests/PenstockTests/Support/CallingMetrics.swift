import CoreMetrics

/// Metrics of a program's own, which keep nothing and call somebody: as a counter is made, and as a meter rises.
final class CallingMetrics: MetricsFactory, MeterHandler {
    private let counterIsMade: @Sendable () -> Void
    private let meterRises: @Sendable () -> Void
    private let nothing = NOOPMetricsHandler.instance

    init(counterIsMade: @escaping @Sendable () -> Void = {}, meterRises: @escaping @Sendable () -> Void = {}) {
        self.counterIsMade = counterIsMade
        self.meterRises = meterRises
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counterIsMade()
        return nothing
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { self }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler { nothing }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { nothing }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    func set(_ value: Int64) {}
    func set(_ value: Double) {}
    func increment(by amount: Double) { meterRises() }
    func decrement(by amount: Double) {}
}
