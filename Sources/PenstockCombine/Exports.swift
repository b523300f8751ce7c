@_exported public import PenstockPublishers
