// The platform's C library, and paths and descriptors in words of Swift: for every file of the module, from here.
#if canImport(Darwin)
    @_exported import Darwin
#elseif canImport(Glibc)
    @_exported import Glibc
#elseif canImport(Musl)
    @_exported import Musl
#endif
#if canImport(System)
    @_exported import System
#else
    @_exported import SystemPackage
#endif
