// Makes the slow path of Swift's `Mutex` visible to the thread sanitizer on Linux.
//
// The fast path is inlined into instrumented code. The slow path is in the standard library, which is not instrumented,
// so the sanitizer reports a race after each contended lock. scripts/test-tsan.sh preloads this library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// `Synchronization._MutexHandle._lockSlow(UInt32)` and `_unlockSlow()`. The handle is `self`.
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *

// Missing in processes without the sanitizer, such as `swift test` itself.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

SWIFT void lock_slow(uint32_t self_id, SELF handle) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF handle) __asm__(UNLOCK_SLOW);

SWIFT void lock_slow(uint32_t self_id, SELF handle) {
    SWIFT void (*original)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK_SLOW);
    original(self_id, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF handle) {
    SWIFT void (*original)(SELF) = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(handle);
    original(handle);
}
