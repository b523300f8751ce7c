// The platform's C library, and paths and descriptors in words of Swift: for every file of the module, from here.
#if canImport(Darwin)
    @_exported public import Darwin
#elseif canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#endif
#if canImport(System)
    @_exported public import System
#else
    @_exported public import SystemPackage
#endif

// Calls of the system that methods of their names hide.
func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
func systemClose(_ number: Int32) -> Int32 { close(number) }
func systemKill(_ id: Int32, _ signal: Int32) -> Int32 { kill(id, signal) }

func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(number, buffer.baseAddress, buffer.count)
}

func systemWrite(_ number: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(number, bytes.baseAddress, bytes.count)
}
