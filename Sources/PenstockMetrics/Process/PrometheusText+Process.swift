extension PrometheusText {
    /// Adds which build says all this.
    package mutating func add(version: String) {
        begin("penstock_build_info", .gauge, "1; its label has the version.")
        sample(Labels(["version": version]), 1)
    }

    /// Adds what the system says of this process, by the names that Prometheus has for it in every language. What it does not say
    /// is left out.
    package mutating func add(_ facts: ProcessFacts) {
        func add(_ name: String, _ kind: Kind, _ help: String, _ value: Double?) {
            guard let value else { return }
            begin(name, kind, help)
            sample(Labels(), value)
        }
        add("process_cpu_seconds_total", .counter, "Seconds of processor time, user and system.", facts.cpuSeconds)
        add("process_open_fds", .gauge, "Open file descriptors.", facts.openFileCount.map(Double.init))
        add("process_max_fds", .gauge, "File descriptors that may be open.", facts.openFileCountMax.map(Double.init))
        add("process_threads", .gauge, "Threads of the process.", facts.threadCount.map(Double.init))
        add("process_virtual_memory_bytes", .gauge, "Bytes of address space.", facts.virtualBytes.map(Double.init))
        add("process_resident_memory_bytes", .gauge, "Bytes in memory.", facts.residentBytes.map(Double.init))
        add("process_start_time_seconds", .gauge, "When the process was started.", facts.startedAtSeconds)
    }
}
