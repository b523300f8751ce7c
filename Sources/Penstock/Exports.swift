// A program that imports Penstock sees the words of its own calls, each by name, and no others of the core. An author of a
// store, or of a test that speaks to one, imports PenstockCore.
// The operators in memory, so that a pipeline reads the same with `in:` and without.

// Operators cannot be exported by name. Where PenstockCore is imported as well, its own are preferred.
extension Timestamp {
    /// The moment `duration` later. Stops at the ends of the range rather than overflowing.
    @_disfavoredOverload
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        moment.advanced(by: duration)
    }

    /// The moment `duration` earlier. Stops at the ends of the range rather than overflowing.
    @_disfavoredOverload
    public static func - (moment: Timestamp, duration: Duration) -> Timestamp {
        moment.advanced(by: .zero - duration)
    }

    /// How long after `earlier` this moment is; negative when it is before.
    @_disfavoredOverload
    public static func - (moment: Timestamp, earlier: Timestamp) -> Duration {
        earlier.duration(to: moment)
    }
}
@_exported public import PenstockStreams
@_exported public import enum PenstockCore.AttemptOutcome
@_exported public import struct PenstockCore.AttemptRecord
@_exported public import struct PenstockCore.BackupReport
@_exported public import struct PenstockCore.BootTime
@_exported public import struct PenstockCore.Capacity
@_exported public import struct PenstockCore.CopyProgress
@_exported public import struct PenstockCore.CopyReport
@_exported public import struct PenstockCore.CursorName
@_exported public import struct PenstockCore.CursorRecord
@_exported public import struct PenstockCore.DeadGroup
@_exported public import struct PenstockCore.DeadGroupPage
@_exported public import struct PenstockCore.DeadGroupQuery
@_exported public import struct PenstockCore.Dependency
@_exported public import struct PenstockCore.DependencyRecord
@_exported public import enum PenstockCore.DependencyState
@_exported public import struct PenstockCore.Depths
@_exported public import struct PenstockCore.Draft
@_exported public import enum PenstockCore.Due
@_exported public import enum PenstockCore.Durability
@_exported public import struct PenstockCore.ErrorSignature
@_exported public import struct PenstockCore.EventName
@_exported public import enum PenstockCore.EventTarget
@_exported public import enum PenstockCore.Expiry
@_exported public import enum PenstockCore.ExpiryPolicy
@_exported public import struct PenstockCore.FileHealth
@_exported public import struct PenstockCore.FiringRecord
@_exported public import enum PenstockCore.GroupPolicy
@_exported public import struct PenstockCore.GroupQuery
@_exported public import struct PenstockCore.GroupRecord
@_exported public import struct PenstockCore.HealthFinding
@_exported public import struct PenstockCore.HealthReport
@_exported public import enum PenstockCore.KeyConflict
@_exported public import enum PenstockCore.KeyScope
@_exported public import struct PenstockCore.KindName
@_exported public import struct PenstockCore.LatencyHistogram
@_exported public import struct PenstockCore.LimitName
@_exported public import struct PenstockCore.LimitRecord
@_exported public import struct PenstockCore.LeaseToken
@_exported public import enum PenstockCore.Limits
@_exported public import enum PenstockCore.LineCommand
@_exported public import struct PenstockCore.MessageFilter
@_exported public import struct PenstockCore.MessageJournal
@_exported public import struct PenstockCore.MessagePage
@_exported public import struct PenstockCore.MessageProgress
@_exported public import struct PenstockCore.MessageQuery
@_exported public import struct PenstockCore.MessageRecord
@_exported public import enum PenstockCore.MessageState
@_exported public import protocol PenstockCore.MessageStore
@_exported public import enum PenstockCore.MigrationPolicy
@_exported public import enum PenstockCore.MissedFirings
@_exported public import struct PenstockCore.NewEvent
@_exported public import struct PenstockCore.NewMessage
@_exported public import struct PenstockCore.NewTask
@_exported public import struct PenstockCore.NewWorkflow
@_exported public import enum PenstockCore.OnDead
@_exported public import enum PenstockCore.OverflowPolicy
@_exported public import struct PenstockCore.PenstockError
@_exported public import struct PenstockCore.ProgressRecord
@_exported public import struct PenstockCore.QueueLatency
@_exported public import struct PenstockCore.QueueName
@_exported public import struct PenstockCore.QueuePolicy
@_exported public import struct PenstockCore.QueueStatus
@_exported public import struct PenstockCore.Rate
@_exported public import protocol PenstockCore.RandomSource
@_exported public import struct PenstockCore.Receipt
@_exported public import struct PenstockCore.Repair
@_exported public import struct PenstockCore.RepairReport
@_exported public import struct PenstockCore.RestoreReport
@_exported public import struct PenstockCore.Retention
@_exported public import struct PenstockCore.RetryPolicy
@_exported public import struct PenstockCore.Schedule
@_exported public import enum PenstockCore.ScheduleChange
@_exported public import struct PenstockCore.ScheduleName
@_exported public import struct PenstockCore.ScheduleQuery
@_exported public import struct PenstockCore.ScheduleRecord
@_exported public import enum PenstockCore.Selection
@_exported public import struct PenstockCore.SequenceNumber
@_exported public import enum PenstockCore.StateReason
@_exported public import struct PenstockCore.StepName
@_exported public import struct PenstockCore.StepRecord
@_exported public import enum PenstockCore.StoreAccess
@_exported public import struct PenstockCore.StoreCopy
@_exported public import struct PenstockCore.StoreMove
@_exported public import struct PenstockCore.SystemRandom
@_exported public import struct PenstockCore.SystemTime
@_exported public import struct PenstockCore.TaskName
@_exported public import struct PenstockCore.TaskPlace
@_exported public import struct PenstockCore.TaskQuery
@_exported public import struct PenstockCore.TaskRecord
@_exported public import protocol PenstockCore.TimeSource
@_exported public import struct PenstockCore.Timestamp
@_exported public import struct PenstockCore.Totals
@_exported public import struct PenstockCore.UniqueKey
@_exported public import struct PenstockCore.WaitReason
@_exported public import struct PenstockCore.WorkerRecord
@_exported public import struct PenstockCore.WorkflowName
@_exported public import struct PenstockCore.WorkflowQuery
@_exported public import struct PenstockCore.WorkflowRecord
@_exported public import enum PenstockCore.WorkflowState
