/// The calls of a store, by kind.
public enum StoreCall: String, Sendable, CaseIterable {
    /// `enqueue`
    case enqueue
    /// `claim`
    case claim
    /// `settle`
    case settle
    /// `extend`
    case extend
    /// `reclaim`
    case reclaim
    /// `append`
    case append
    /// `log`
    case log
    /// `moveCursor`
    case moveCursor
    /// `messages`
    case messages
    /// `deadGroups`
    case deadGroups
    /// `waitReason`
    case waitReason
    /// `status`
    case status
    /// `configure`
    case configure
    /// `setLimit`
    case setLimit
    /// `limits`
    case limits
    /// `groups`
    case groups
    /// `apply`
    case apply
    /// `count`
    case count
    /// `expectEnd`
    case expectEnd
    /// `prune`
    case prune
    /// `schedule`
    case schedule
    /// `schedules`
    case schedules
    /// `fire`
    case fire
    /// `start`, of a workflow
    case start
    /// `cancel`, of a workflow
    case cancel
    /// `workflows`
    case workflows
    /// `tasks`
    case tasks
    /// `record`, of a step
    case record
    /// `journal`
    case journal
    /// `emit`
    case emit
    /// `event`
    case event
    /// `close`
    case close
}
