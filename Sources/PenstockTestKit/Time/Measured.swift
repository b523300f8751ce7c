/// Measures again and again, until a value will do. What is asked is Penstock's part: a machine with too much to do is given more chances.
///
/// - Parameters:
///   - count: how many chances it has.
///   - willDo: whether a value is good enough.
///   - measure: gives a value; it is told how many there are already.
/// - Returns: all values, of which only the last one may be good enough.
package func measured<Value>(
    atMost count: Int, until willDo: (Value) -> Bool, _ measure: (Int) async throws -> Value
) async throws -> [Value] {
    var values: [Value] = []
    while values.count < count, values.last.map({ !willDo($0) }) ?? true {
        values.append(try await measure(values.count))
    }
    return values
}
