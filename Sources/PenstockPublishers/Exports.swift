// A program that imports PenstockPublishers, or PenstockCombine, sees Combine, or the port of it on systems that have none, and all of Penstock:
// a pipeline needs no other import.
#if canImport(Combine)
    @_exported public import Combine
#else
    @_exported public import OpenCombineShim
#endif
@_exported public import Penstock
// The schedulers that pipelines name.
@_exported public import Dispatch
