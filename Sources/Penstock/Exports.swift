// Who imports Penstock sees the words of the core as well: QueueName, QueuePolicy, Receipt, …
@_exported public import PenstockCore
// And what `PenstockStore.inspectHealth`, `PenstockStore.repair` and `PenstockStore.restore` report.
@_exported public import struct PenstockSQLite.FileHealth
@_exported public import struct PenstockSQLite.HealthFinding
@_exported public import struct PenstockSQLite.HealthReport
@_exported public import struct PenstockSQLite.Repair
@_exported public import struct PenstockSQLite.RepairReport
@_exported public import struct PenstockSQLite.RestoreReport
// And the operators in memory, so that a pipeline reads the same with `in:` and without.
@_exported public import PenstockStreams
