import PenstockConformance

extension ConformanceCase {
    /// One rule of so many, chosen by its name: which ones these are does not change with rules that come or go beside them.
    ///
    /// - Parameter lot: which of the samples, from 0 up to `count`; no rule is in two of them.
    static func sample(oneOf count: UInt32, lot: UInt32) -> [ConformanceCase] {
        all.filter { rule in
            // FNV-1a, which is the same in every run; `hashValue` is not.
            let hash = rule.testDescription.utf8.reduce(2_166_136_261 as UInt32) { hash, byte in
                (hash ^ UInt32(byte)) &* 16_777_619
            }
            return hash % count == lot
        }
    }
}
